// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// Numeric constants of HIP that are written out here, because the oldest headers lack them, or because headers of different
/// releases disagree. tests/drivers/hip_prototypes.cpp compares them with the headers.
namespace weir::hip {

// Values of hipDeviceAttribute_t since 5.0. If a release does not implement an attribute, its query fails.
constexpr int attribute_async_engine_count = 2, attribute_clock_rate = 5, attribute_concurrent_managed_access = 9,
              attribute_cooperative_launch = 10, attribute_ecc_enabled = 0, attribute_integrated = 16,
              attribute_l2_cache_size = 19, attribute_capability_major = 23, attribute_managed_memory = 24,
              attribute_max_block_x = 26, attribute_max_grid_x = 29, attribute_max_threads_per_block = 56,
              attribute_max_threads_per_multiprocessor = 57, attribute_memory_bus_width = 59,
              attribute_memory_clock_rate = 60, attribute_capability_minor = 61, attribute_multiprocessor_count = 63,
              attribute_registers_per_block = 71, attribute_shared_per_block = 74, attribute_shared_per_block_optin = 75,
              attribute_stream_priorities = 78, attribute_unified_addressing = 85, attribute_warp_size = 87,
              attribute_memory_pools = 88, attribute_host_register = 90, attribute_shared_per_multiprocessor = 10002,
              attribute_stream_wait_value = 10013;

/// Formats a release number: 701 becomes "7.1".
inline std::string release_text(int release) { return std::to_string(release / 100) + "." + std::to_string(release % 100); }

// Members of hipDeviceProp_tR0600 without an attribute: the offset and size of the architecture's name, and the offset of
// `clusterLaunch`, an int.
constexpr std::size_t architecture_in_r0600 = 1160, longest_architecture = 256, cluster_launch_in_r0600 = 772;

constexpr int invalid_cluster_size = 1054;                       // hipErrorInvalidClusterSize, added in 10.0
constexpr int stream_detached = 916;                             // hipErrorStreamDetached, added in 7.14
constexpr unsigned ipc_lazy_enable_peer_access = 1;             // hipIpcMemLazyEnablePeerAccess since 6.0
constexpr unsigned no_destructor_sync = 1;                      // hipUserObjectNoDestructorSync
constexpr unsigned graph_user_object_move = 1;                  // hipGraphUserObjectMove
constexpr unsigned long long auto_free_on_launch = 1;           // hipGraphInstantiateFlagAutoFreeOnLaunch
constexpr unsigned add_dependencies = 0, set_dependencies = 1;  // hipStreamAddCaptureDependencies, …Set…
constexpr unsigned event_record_external = 1, event_wait_external = 1;

// Values of hipStreamAttrID (also hipLaunchAttributeID) and of hipSynchronizationPolicy.
constexpr int attribute_synchronization_policy = 3, attribute_cooperative = 2, attribute_cluster_dimension = 4;
constexpr int policy_automatic = 1, policy_spin = 2, policy_yield = 3, policy_blocking = 4;

// Values of hipStreamBatchMemOpType, which are the same as CUDA's.
constexpr std::uint32_t wait_32 = 1, write_32 = 2, wait_64 = 4, write_64 = 5;

// Values of hipGraphNodeType from 5.5 on.
constexpr int node_kernel = 0, node_copy = 1, node_fill = 2, node_host = 3, node_graph = 4, node_empty = 5,
              node_event_wait = 6, node_event_record = 7, node_allocate = 10, node_free = 11, node_copy_from_symbol = 12,
              node_copy_to_symbol = 13, node_batch = 14;

}  // namespace weir::hip
