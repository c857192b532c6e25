// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/runtime/impl.hpp"
#include "weir/error.hpp"

// Default implementations of the virtual functions for optional features. Most throw an error, because the core calls them
// only if the backend's feature table lists the feature.
namespace weir {
namespace {

using F = Feature;

/// Throws `unsupported`, because the backend lists a feature whose function it does not override.
template <class Object>
[[noreturn]] void not_overridden(const Object& object, Feature feature) {
  throw Error(Errc::unsupported, "feature " + std::string(to_string(feature)), object.describe(),
              "the backend declares this feature but does not implement it; report this to the backend's author");
}

}  // namespace

void* StreamImpl::do_native_context() const { not_overridden(*this, F::native_context); }
void StreamImpl::do_record_external(Event&, const CaptureState&) { not_overridden(*this, F::external_events); }
void StreamImpl::do_wait_external(const Event&, const CaptureState&) { not_overridden(*this, F::external_events); }
void StreamImpl::do_launch_host_function(HostFunction&&, const CaptureState&) { not_overridden(*this, F::host_functions); }
void StreamImpl::do_add_callback(StreamCallback&&) { not_overridden(*this, F::stream_callbacks); }
std::uint64_t StreamImpl::do_begin_capture(CaptureMode) { not_overridden(*this, F::graph_capture); }
GraphPtr StreamImpl::do_end_capture(CaptureResources&&) { not_overridden(*this, F::graph_capture); }
CaptureState StreamImpl::do_capture_state() const { return {}; }
GraphPtr StreamImpl::do_captured_graph() const { return nullptr; }
void StreamImpl::do_keep_in_graph(const ModulePtr&, const CaptureState&) {}
std::uint64_t StreamImpl::do_resume_capture(const GraphPtr&, CaptureMode) { not_overridden(*this, F::capture_into_graph); }
void StreamImpl::do_add_child_graph(const Graph&, const CaptureState&) { not_overridden(*this, F::graph_child_nodes); }
void StreamImpl::do_capture_conditional(ConditionalKind, const std::uint32_t*, std::span<UniqueFunction<void(Stream&)>>,
                                        const CaptureState&) {
  not_overridden(*this, F::graph_conditional_nodes);
}
std::vector<GraphNode> StreamImpl::do_capture_dependencies(const CaptureState&) const {
  not_overridden(*this, F::graph_capture);
}
void StreamImpl::do_set_capture_dependencies(std::span<const GraphNode>, const CaptureState&) {
  not_overridden(*this, F::graph_capture);
}
void StreamImpl::do_copy_batch(std::span<const BatchCopy> copies, SourceAccess, const CaptureState&) {
  for (const BatchCopy& copy : copies) {
    if (copy.bytes != 0) do_copy(copy.destination, copy.source, copy.bytes);
  }
}
void StreamImpl::do_copy_peer(void* destination, const Device&, const void* source, const Device&, std::size_t bytes) {
  do_copy(destination, source, bytes);
}
void* StreamImpl::do_allocate_async(std::size_t, MemoryPool*, const CaptureState&) {
  not_overridden(*this, F::async_allocation);
}
bool StreamImpl::do_deallocate_async(void*, const CaptureState&) { not_overridden(*this, F::async_allocation); }
void StreamImpl::do_attach_memory(const Allocation&, AttachMode) { not_overridden(*this, F::managed_attach); }
void StreamImpl::do_prefetch(const void*, std::size_t, PrefetchTarget) { not_overridden(*this, F::managed_prefetch); }
void StreamImpl::do_memory_operation(const MemoryOperation& operation, const CaptureState&) {
  not_overridden(*this, operation.is_wait() ? F::wait_value_32 : F::write_value_32);
}
void StreamImpl::do_batch_memory_operations(std::span<const MemoryOperation>, const CaptureState&) {
  not_overridden(*this, F::batch_memory_operations);
}
void StreamImpl::do_launch(const Kernel&, const LaunchConfig&, void* const*, const std::span<const Parameter>&,
                           const CaptureState&) {
  not_overridden(*this, F::modules);
}
void StreamImpl::do_launch_with_attributes(const Kernel&, const LaunchConfig&, void* const*,
                                           const std::span<const Parameter>&, const CaptureState&) {
  not_overridden(*this, F::cooperative_launch);
}
SynchronizationPolicy StreamImpl::do_synchronization_policy() const { not_overridden(*this, F::synchronization_policy); }
void StreamImpl::do_set_synchronization_policy(SynchronizationPolicy) { not_overridden(*this, F::synchronization_policy); }
AccessPolicyWindow StreamImpl::do_access_policy_window() const { not_overridden(*this, F::access_policy_window); }
void StreamImpl::do_set_access_policy_window(const AccessPolicyWindow&) { not_overridden(*this, F::access_policy_window); }
void StreamImpl::do_copy_attributes(const Stream&) { not_overridden(*this, F::synchronization_policy); }
PartitionPtr DeviceImpl::do_partition(std::uint32_t) { not_overridden(*this, F::partitions); }
StreamPtr DeviceImpl::do_create_per_thread_stream() { not_overridden(*this, F::per_thread_default_stream); }
EventPtr DeviceImpl::do_open_event(const InterprocessHandle&) { not_overridden(*this, F::interprocess_events); }
void* DeviceImpl::do_register_host(void*, std::size_t) { not_overridden(*this, F::host_registration); }
void DeviceImpl::do_unregister_host(void*) {}
MemoryPoolPtr DeviceImpl::do_create_memory_pool(const MemoryPoolOptions&) { not_overridden(*this, F::memory_pools); }
MemoryPoolPtr DeviceImpl::do_default_memory_pool() { not_overridden(*this, F::memory_pools); }
InterprocessHandle DeviceImpl::do_interprocess_handle(const Allocation&) const {
  not_overridden(*this, F::interprocess_memory);
}
void* DeviceImpl::do_open_memory(const InterprocessHandle&) { not_overridden(*this, F::interprocess_memory); }
void DeviceImpl::do_close_memory(void*) {}
void DeviceImpl::do_enable_peer_access(const Device&) { not_overridden(*this, F::peer_access); }
void DeviceImpl::do_disable_peer_access(const Device&) { not_overridden(*this, F::peer_access); }
ModulePtr DeviceImpl::do_load_module(std::span<const std::byte>) { not_overridden(*this, F::modules); }
ModulePtr DeviceImpl::do_compile(std::string_view, const CompileOptions&) { not_overridden(*this, F::runtime_compilation); }
int DeviceImpl::do_rank_image(std::string_view architecture, std::span<const std::byte>) const {
  return architecture == properties_.architecture ? 1 : 0;
}
InterprocessHandle EventImpl::do_interprocess_handle() const { not_overridden(*this, F::interprocess_events); }
std::string GraphImpl::do_debug_dot() const { not_overridden(*this, F::graph_debug_dot); }
GraphPtr GraphImpl::do_clone() const { not_overridden(*this, F::graph_clone); }
void GraphExecImpl::do_upload(Stream&) { not_overridden(*this, F::graph_upload); }
void GraphExecImpl::do_update(const Graph&) { not_overridden(*this, F::graph_update); }
void GraphExecImpl::do_apply(const GraphChanges&) { not_overridden(*this, F::graph_node_changes); }

}  // namespace weir
