// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// Memory under WEIR_SCHEDULE: unwritten and freed memory contains a pattern, so that reading it becomes visible. It also
/// collects the content that `weir race --witness` compares. Without the variable all this does nothing.
namespace weir::host {

enum class Watch : std::uint8_t {
  owned,       ///< new memory, freed by `free_aligned`; its final content is recorded
  registered,  ///< belongs to the program
  pool,        ///< new memory of a pool, whose parts are recorded when they are freed
};

/// Adds memory to the watched memory. Fills it if it is new: with 0xc0 to 0xce in turn, which also shows which memory was
/// read; for a pool with 0xcf.
void watch_memory(void* memory, std::size_t bytes, Watch watch);
/// Removes memory. Fills owned memory, which must not be read from now on, with 0xdd.
void unwatch_memory(void* memory) noexcept;
/// Records that part of a pool's memory is freed. `name`: the same in each run.
void mark_freed(void* memory, std::size_t bytes, const std::string& name) noexcept;

std::uint64_t hash_of(const std::byte* memory, std::size_t bytes) noexcept;
/// A hash of all watched memory, independent of its addresses.
std::uint64_t hash_of_all();

}  // namespace weir::host
