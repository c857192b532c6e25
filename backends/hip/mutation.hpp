// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What the driver tests can have the backend do wrong, one at a time, to show that a test fails then. A build for that
/// (WEIR_HIP_MUTATE) reads the name from the environment variable WEIR_TEST_MUTATION: one of these, or that of a row of the
/// quirk table, which is then not there. In other builds nothing is read, and none of it is compiled in.
#define WEIR_HIP_MUTATIONS(X)     \
  X(absences_not_believed)        \
  X(blocking_waits_spin)          \
  X(called_at_the_end)            \
  X(capture_modes_kept)           \
  X(capture_not_tried)            \
  X(copies_of_low_priority)       \
  X(device_not_set)               \
  X(event_waits_end_on_the_event) \
  X(fill_2d_of_one_byte)          \
  X(fill_2d_without_pitch)        \
  X(hiprtc_by_number_alone)       \
  X(launch_failure_is_a_fault)    \
  X(legacy_stream_by_number)      \
  X(loaded_copy_passed_over)      \
  X(modules_on_another_device)    \
  X(newer_flag_for_shared_memory) \
  X(newer_numbers_of_nodes)       \
  X(no_sleep_by_policy)           \
  X(not_ready_left_behind)        \
  X(null_stream_frees_itself)     \
  X(old_layout_of_properties)     \
  X(optin_memory_as_told)         \
  X(pools_closed_by_force)        \
  X(priorities_swapped)           \
  X(registered_read_only)         \
  X(replaced_at_once)             \
  X(retired_on_another_device)    \
  X(runtimes_sorted_as_text)      \
  X(shared_uuids)                 \
  X(user_objects_moved)           \
  X(wait_conditions_swapped)      \
  X(wait_mask_forgotten)          \
  X(waits_end_unsynchronized)

namespace weir::hip {

enum class Mutation {
#define WEIR_HIP_MUTATION(name) name,
  WEIR_HIP_MUTATIONS(WEIR_HIP_MUTATION)
#undef WEIR_HIP_MUTATION
};

#ifdef WEIR_HIP_MUTATE
bool mutated(std::string_view name) noexcept;
bool mutated(Mutation mutation) noexcept;
#else
constexpr bool mutated(std::string_view) noexcept { return false; }
constexpr bool mutated(Mutation) noexcept { return false; }
#endif

}  // namespace weir::hip
