// SPDX-License-Identifier: Apache-2.0
#include "core/unsupported.hpp"
#include "weir/device.hpp"
#include "weir/stream.hpp"

// The optional operations of a stream, for backends that do not have them.
namespace weir {

using detail::not_overridden;

void* Stream::do_native_context() const {
  not_overridden("Stream::native_context", describe(), Feature::native_context);
}
void Stream::do_record_external(Event&, const CaptureState&) {
  not_overridden("Stream::record_external", describe(), Feature::external_events);
}
void Stream::do_wait_external(const Event&, const CaptureState&) {
  not_overridden("Stream::wait_external", describe(), Feature::external_events);
}
void Stream::do_launch_host_function(HostFunction&&, const CaptureState&) {
  not_overridden("Stream::launch_host_function", describe(), Feature::host_functions);
}
void Stream::do_add_callback(StreamCallback&&) {
  not_overridden("Stream::add_callback", describe(), Feature::stream_callbacks);
}
std::uint64_t Stream::do_begin_capture(CaptureMode) {
  not_overridden("Stream::begin_capture", describe(), Feature::graph_capture);
}
GraphPtr Stream::do_end_capture(CaptureResources&&) {
  not_overridden("Stream::end_capture", describe(), Feature::graph_capture);
}
CaptureState Stream::do_capture_state() const { return {}; }
GraphPtr Stream::do_captured_graph() const { return nullptr; }
void Stream::do_keep_in_graph(const ModulePtr&, const CaptureState&) {}
std::uint64_t Stream::do_resume_capture(const GraphPtr&, CaptureMode) {
  not_overridden("Stream::resume_capture", describe(), Feature::capture_into_graph);
}
void Stream::do_add_child_graph(const Graph&, const CaptureState&) {
  not_overridden("Stream::add_child_graph", describe(), Feature::graph_child_nodes);
}
void Stream::do_capture_conditional(ConditionalKind, const std::uint32_t*, UniqueFunction<void(Stream&)>&&,
                                    const CaptureState&) {
  not_overridden("Stream::capture_if", describe(), Feature::graph_conditional_nodes);
}
void Stream::do_copy_peer(void* destination, const Device&, const void* source, const Device&, std::size_t bytes) {
  do_copy(destination, source, bytes);
}
void* Stream::do_allocate_async(std::size_t, MemoryPool*, const CaptureState&) {
  not_overridden("Stream::allocate_async", describe(), Feature::async_allocation);
}
bool Stream::do_deallocate_async(void*, const CaptureState&) {
  not_overridden("Stream::allocate_async", describe(), Feature::async_allocation);
}
void Stream::do_attach(const Allocation&, AttachMode) {
  not_overridden("Stream::attach", describe(), Feature::managed_attach);
}
void Stream::do_prefetch(const void*, std::size_t, PrefetchTarget) {
  not_overridden("Stream::prefetch", describe(), Feature::managed_prefetch);
}
void Stream::do_memory_operation(const MemoryOperation& operation, const CaptureState&) {
  not_overridden(operation.is_wait() ? "Stream::wait_value" : "Stream::write_value", describe(),
                 operation.is_wait() ? Feature::wait_value_32 : Feature::write_value_32);
}
void Stream::do_batch(std::span<const MemoryOperation>, const CaptureState&) {
  not_overridden("Stream::batch", describe(), Feature::batch_memory_operations);
}
void Stream::do_launch(const Kernel&, const LaunchConfig&, std::span<void* const>, std::span<const std::size_t>,
                       const CaptureState&) {
  not_overridden("Stream::launch", describe(), Feature::modules);
}
SynchronizationPolicy Stream::do_synchronization_policy() const {
  not_overridden("Stream::synchronization_policy", describe(), Feature::synchronization_policy);
}
void Stream::do_set_synchronization_policy(SynchronizationPolicy) {
  not_overridden("Stream::set_synchronization_policy", describe(), Feature::synchronization_policy);
}
AccessPolicyWindow Stream::do_access_policy_window() const {
  not_overridden("Stream::access_policy_window", describe(), Feature::access_policy_window);
}
void Stream::do_set_access_policy_window(const AccessPolicyWindow&) {
  not_overridden("Stream::set_access_policy_window", describe(), Feature::access_policy_window);
}
void Stream::do_copy_attributes(const Stream&) {
  not_overridden("Stream::copy_attributes", describe(), Feature::synchronization_policy);
}

}  // namespace weir
