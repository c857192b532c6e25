// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/export.hpp"

/// Features: capabilities that some backend, device or driver release lacks. A program can query whether a device has a
/// feature, and the reason if not.
namespace weir {

/// The list of features: X(name, description). Programs contain the numbers of features, also in C (`weir_feature`), where
/// they never change: add features at the end.
#define WEIR_FEATURES(X)                                                                                             \
  X(stream_priorities, "streams whose work is preferred over other streams'")                                        \
  X(per_thread_default_stream, "Device::per_thread_stream")                                                          \
  X(native_context, "Stream::native_context: the vendor's context handle")                                           \
  X(stream_id, "Stream::id given by the driver, as profilers show it")                                               \
  X(synchronization_policy, "how a host thread waits in Stream::synchronize")                                        \
  X(access_policy_window, "an L2 persistence window on a stream")                                                    \
  X(host_functions, "Stream::launch_host_function")                                                                  \
  X(stream_callbacks, "Stream::add_callback, which also runs when the stream has failed")                            \
  X(event_timing, "Event::elapsed_since")                                                                            \
  X(blocking_sync_events, "events whose synchronize puts the host thread to sleep")                                  \
  X(interprocess_events, "events shared with another process")                                                       \
  X(interprocess_memory, "device memory shared with another process")                                                \
  X(graph_capture, "Stream::begin_capture and end_capture")                                                          \
  X(capture_into_graph, "Stream::resume_capture: continuing a capture in a graph that exists")                       \
  X(host_functions_in_capture, "host functions as graph nodes")                                                      \
  X(memory_operations_in_capture, "write and wait values and their batches as graph nodes")                          \
  X(graph_update, "GraphExec::update")                                                                               \
  X(graph_upload, "GraphExec::upload")                                                                               \
  X(graph_debug_dot, "Graph::debug_dot")                                                                             \
  X(graph_clone, "Graph::clone")                                                                                     \
  X(graph_memory_nodes, "stream-ordered allocation inside a capture")                                                \
  X(graph_child_nodes, "Stream::add_child_graph")                                                                    \
  X(graph_conditional_nodes, "Stream::capture_if and capture_while")                                                 \
  X(graph_node_changes, "GraphExec::apply: new arguments for single nodes, and nodes that are disabled")             \
  X(graph_switch_nodes, "Stream::capture_if with an else, and capture_switch")                                       \
  X(external_events, "event records and waits as graph nodes that order graphs against other work")                  \
  X(cross_device_capture, "one capture that spans several devices")                                                  \
  X(write_value_32, "Stream::write_value, 32 bits")                                                                  \
  X(write_value_64, "Stream::write_value, 64 bits")                                                                  \
  X(wait_value_32, "Stream::wait_value, 32 bits, comparing with == and &")                                           \
  X(wait_value_64, "Stream::wait_value, 64 bits, comparing with == and &")                                           \
  X(wait_value_geq, "wait_value with >=, compared cyclically, so that counters may wrap")                            \
  X(wait_value_nor, "wait_value with nor")                                                                           \
  X(wait_value_flush, "wait_value that flushes remote writes before the stream continues")                          \
  X(batch_memory_operations, "Stream::batch_memory_operations: several memory operations, contiguous in the stream") \
  X(batch_copies, "Stream::copy_batch: many copies in one call")                                                     \
  X(async_allocation, "Stream::allocate_async")                                                                      \
  X(memory_pools, "MemoryPool: pools of stream-ordered memory, with statistics")                                     \
  X(memory_pool_max_size, "MemoryPoolOptions::max_size: pools that hold no more than that")                          \
  X(managed_memory, "memory that host and device address alike")                                                     \
  X(concurrent_managed_access, "managed memory touched by the host while the device works")                          \
  X(managed_attach, "Stream::attach_memory")                                                                         \
  X(managed_prefetch, "Stream::prefetch")                                                                            \
  X(host_registration, "Device::register_host: pinning memory that exists")                                          \
  X(peer_access, "kernels that address another device's memory")                                                     \
  X(modules, "Device::load_module")                                                                                  \
  X(runtime_compilation, "Device::compile")                                                                          \
  X(cooperative_launch, "launches whose blocks can all wait for each other")                                         \
  X(cluster_launch, "launches in thread block clusters, which share memory")                                         \
  X(programmatic_launch, "kernels that begin before the kernel before them has ended")                               \
  X(launch_priority, "a priority for one launch")                                                                    \
  X(partitions, "Device::partition: streams that run on a part of the device")                                       \
  X(block_cooperation, "kernels with shared memory, barriers and atomics within a block")

/// One capability. `to_string` returns its name, as `WEIR_DISABLE_FEATURES` and the tools spell it.
enum class Feature : std::uint8_t {
#define WEIR_FEATURE_ENUMERATOR(name, text) name,
  WEIR_FEATURES(WEIR_FEATURE_ENUMERATOR)
#undef WEIR_FEATURE_ENUMERATOR
};

/// The number of features.
inline constexpr std::size_t feature_count = 0
#define WEIR_FEATURE_ONE(name, text) +1
    WEIR_FEATURES(WEIR_FEATURE_ONE)
#undef WEIR_FEATURE_ONE
    ;

/// Every feature, in declaration order.
WEIR_API std::span<const Feature> all_features() noexcept;
/// The feature's name: `"graph_capture"`.
WEIR_API std::string_view to_string(Feature) noexcept;
/// A short description of the feature.
WEIR_API std::string_view description(Feature) noexcept;
/// Returns the feature of that name, or nullopt.
WEIR_API std::optional<Feature> parse_feature(std::string_view name) noexcept;

/// How a device supports a feature. `emulated`: Weir produces the same observable result by other means.
enum class Support : std::uint8_t { absent, emulated, native };
WEIR_API std::string_view to_string(Support) noexcept;

/// A feature's support on one device.
struct FeatureState {
  Support support = Support::absent;
  /// Why the feature is absent or emulated: the missing part and the remedy. Empty if it is native.
  std::string reason;
};

/// The features of one device. Its backend fills in the table before the device becomes visible; afterwards it does not
/// change.
class WEIR_API FeatureTable {
 public:
  /// Creates a table without features: all are absent.
  FeatureTable();

  /// Sets a feature's support. Throws `invalid_argument` for a value that is not a feature.
  void set(Feature feature, Support support, std::string reason = {});
  /// Declares that the device supports the feature natively.
  void native(Feature feature) { set(feature, Support::native); }
  /// Declares that the backend produces the same result by other means, which `reason` names.
  void emulated(Feature feature, std::string reason) { set(feature, Support::emulated, std::move(reason)); }
  /// Declares that the feature is absent. `reason`: the missing part and the remedy.
  void absent(Feature feature, std::string reason) { set(feature, Support::absent, std::move(reason)); }

  /// Whether the device has the feature, natively or emulated. False for a value that is not a feature.
  bool supports(Feature feature) const noexcept {
    const auto index = static_cast<std::size_t>(feature);
    return index < feature_count && present_[index];
  }
  /// How the device supports the feature, with the reason unless it is native.
  const FeatureState& state(Feature feature) const noexcept {
    const auto index = static_cast<std::size_t>(feature);
    return states_[index < feature_count ? index : feature_count];
  }

 private:
  std::bitset<feature_count> present_;
  FeatureState states_[feature_count + 1];  // the last element is for values that are not features
};

}  // namespace weir
