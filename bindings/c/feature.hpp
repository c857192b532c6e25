// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "weir/c/feature.h"
#include "weir/feature.hpp"

/// Conversion of features from C to C++.
namespace weir::c {

/// Returns the C++ feature; nullopt for a number that is not a feature of this library.
constexpr std::optional<Feature> feature_of(weir_feature feature) noexcept {
  switch (feature) {
    case WEIR_FEATURE_STREAM_PRIORITIES: return Feature::stream_priorities;
    case WEIR_FEATURE_PER_THREAD_DEFAULT_STREAM: return Feature::per_thread_default_stream;
    case WEIR_FEATURE_NATIVE_CONTEXT: return Feature::native_context;
    case WEIR_FEATURE_STREAM_ID: return Feature::stream_id;
    case WEIR_FEATURE_SYNCHRONIZATION_POLICY: return Feature::synchronization_policy;
    case WEIR_FEATURE_ACCESS_POLICY_WINDOW: return Feature::access_policy_window;
    case WEIR_FEATURE_HOST_FUNCTIONS: return Feature::host_functions;
    case WEIR_FEATURE_STREAM_CALLBACKS: return Feature::stream_callbacks;
    case WEIR_FEATURE_EVENT_TIMING: return Feature::event_timing;
    case WEIR_FEATURE_BLOCKING_SYNC_EVENTS: return Feature::blocking_sync_events;
    case WEIR_FEATURE_INTERPROCESS_EVENTS: return Feature::interprocess_events;
    case WEIR_FEATURE_INTERPROCESS_MEMORY: return Feature::interprocess_memory;
    case WEIR_FEATURE_GRAPH_CAPTURE: return Feature::graph_capture;
    case WEIR_FEATURE_CAPTURE_INTO_GRAPH: return Feature::capture_into_graph;
    case WEIR_FEATURE_HOST_FUNCTIONS_IN_CAPTURE: return Feature::host_functions_in_capture;
    case WEIR_FEATURE_MEMORY_OPERATIONS_IN_CAPTURE: return Feature::memory_operations_in_capture;
    case WEIR_FEATURE_GRAPH_UPDATE: return Feature::graph_update;
    case WEIR_FEATURE_GRAPH_UPLOAD: return Feature::graph_upload;
    case WEIR_FEATURE_GRAPH_DEBUG_DOT: return Feature::graph_debug_dot;
    case WEIR_FEATURE_GRAPH_CLONE: return Feature::graph_clone;
    case WEIR_FEATURE_GRAPH_MEMORY_NODES: return Feature::graph_memory_nodes;
    case WEIR_FEATURE_GRAPH_CHILD_NODES: return Feature::graph_child_nodes;
    case WEIR_FEATURE_GRAPH_CONDITIONAL_NODES: return Feature::graph_conditional_nodes;
    case WEIR_FEATURE_EXTERNAL_EVENTS: return Feature::external_events;
    case WEIR_FEATURE_CROSS_DEVICE_CAPTURE: return Feature::cross_device_capture;
    case WEIR_FEATURE_WRITE_VALUE_32: return Feature::write_value_32;
    case WEIR_FEATURE_WRITE_VALUE_64: return Feature::write_value_64;
    case WEIR_FEATURE_WAIT_VALUE_32: return Feature::wait_value_32;
    case WEIR_FEATURE_WAIT_VALUE_64: return Feature::wait_value_64;
    case WEIR_FEATURE_WAIT_VALUE_GEQ: return Feature::wait_value_geq;
    case WEIR_FEATURE_WAIT_VALUE_NOR: return Feature::wait_value_nor;
    case WEIR_FEATURE_WAIT_VALUE_FLUSH: return Feature::wait_value_flush;
    case WEIR_FEATURE_BATCH_MEMORY_OPERATIONS: return Feature::batch_memory_operations;
    case WEIR_FEATURE_ASYNC_ALLOCATION: return Feature::async_allocation;
    case WEIR_FEATURE_MEMORY_POOLS: return Feature::memory_pools;
    case WEIR_FEATURE_MEMORY_POOL_MAX_SIZE: return Feature::memory_pool_max_size;
    case WEIR_FEATURE_MANAGED_MEMORY: return Feature::managed_memory;
    case WEIR_FEATURE_CONCURRENT_MANAGED_ACCESS: return Feature::concurrent_managed_access;
    case WEIR_FEATURE_MANAGED_ATTACH: return Feature::managed_attach;
    case WEIR_FEATURE_MANAGED_PREFETCH: return Feature::managed_prefetch;
    case WEIR_FEATURE_HOST_REGISTRATION: return Feature::host_registration;
    case WEIR_FEATURE_PEER_ACCESS: return Feature::peer_access;
    case WEIR_FEATURE_MODULES: return Feature::modules;
    case WEIR_FEATURE_RUNTIME_COMPILATION: return Feature::runtime_compilation;
    case WEIR_FEATURE_COOPERATIVE_LAUNCH: return Feature::cooperative_launch;
    case WEIR_FEATURE_BLOCK_COOPERATION: return Feature::block_cooperation;
    case WEIR_FEATURE_BATCH_COPIES: return Feature::batch_copies;
    case WEIR_FEATURE_GRAPH_NODE_CHANGES: return Feature::graph_node_changes;
    case WEIR_FEATURE_GRAPH_SWITCH_NODES: return Feature::graph_switch_nodes;
    case WEIR_FEATURE_CLUSTER_LAUNCH: return Feature::cluster_launch;
    case WEIR_FEATURE_PROGRAMMATIC_LAUNCH: return Feature::programmatic_launch;
    case WEIR_FEATURE_PARTITIONS: return Feature::partitions;
    case WEIR_FEATURE_LAUNCH_PRIORITY: return Feature::launch_priority;
  }
  return std::nullopt;
}

// Every C++ feature has a number in C, and these numbers have no gaps.
static_assert([] {
  for (std::size_t i = 0; i < feature_count; ++i) {
    if (!feature_of(static_cast<weir_feature>(i))) return false;
  }
  return !feature_of(static_cast<weir_feature>(feature_count));
}());

}  // namespace weir::c
