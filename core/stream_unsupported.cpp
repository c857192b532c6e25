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
void Stream::do_launch_host_function(HostFunction&&) {
  not_overridden("Stream::launch_host_function", describe(), Feature::host_functions);
}
void Stream::do_add_callback(StreamCallback&&) {
  not_overridden("Stream::add_callback", describe(), Feature::stream_callbacks);
}
std::uint64_t Stream::do_begin_capture(CaptureMode) {
  not_overridden("Stream::begin_capture", describe(), Feature::graph_capture);
}
GraphPtr Stream::do_end_capture(std::uint64_t) { not_overridden("Stream::end_capture", describe(), Feature::graph_capture); }
void Stream::do_forget_capture(std::uint64_t) noexcept {}
CaptureInfo Stream::do_capture_info(bool) const { return {}; }
std::uint64_t Stream::do_resume_capture(const GraphPtr&, CaptureMode) {
  not_overridden("Stream::resume_capture", describe(), Feature::capture_into_graph);
}
void Stream::do_add_child_graph(const Graph&) {
  not_overridden("Stream::add_child_graph", describe(), Feature::graph_child_nodes);
}
void Stream::do_capture_conditional(const std::uint32_t*, bool, UniqueFunction<void(Stream&)>&&) {
  not_overridden("Stream::capture_if", describe(), Feature::graph_conditional_nodes);
}
void Stream::do_copy_peer(void* destination, const Device&, const void* source, const Device&, std::size_t bytes) {
  do_copy(destination, source, bytes);
}
void* Stream::do_allocate_async(std::size_t, MemoryPool*) {
  not_overridden("Stream::allocate_async", describe(), Feature::async_allocation);
}
bool Stream::do_deallocate_async(void*) {
  not_overridden("Stream::allocate_async", describe(), Feature::async_allocation);
}
void Stream::do_attach(const Allocation&, AttachMode) {
  not_overridden("Stream::attach", describe(), Feature::managed_attach);
}
void Stream::do_prefetch(const void*, std::size_t, PrefetchTarget) {
  not_overridden("Stream::prefetch", describe(), Feature::managed_prefetch);
}
void Stream::do_memory_operation(const MemoryOperation& operation) {
  not_overridden(operation.is_wait() ? "Stream::wait_value" : "Stream::write_value", describe(),
                 operation.is_wait() ? Feature::wait_value_32 : Feature::write_value_32);
}
void Stream::do_batch(std::span<const MemoryOperation>) {
  not_overridden("Stream::batch", describe(), Feature::batch_memory_operations);
}
void Stream::do_launch(const Kernel&, const LaunchConfig&, std::span<void* const>, std::span<const std::size_t>) {
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
