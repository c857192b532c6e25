// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/graph.hpp"
#include "weir/stream.hpp"

// The optional operations, for backends that do not have them.
namespace weir {
namespace {

using F = Feature;

/// The backend's feature table has the feature all the same.
template <class Object>
[[noreturn]] void not_overridden(const Object& object, Feature feature) {
  throw Error(Errc::unsupported, "feature " + std::string(to_string(feature)), object.describe(),
              "the backend lists this feature and does not implement it; report this to the backend's author");
}

}  // namespace

void* Stream::do_native_context() const { not_overridden(*this, F::native_context); }
void Stream::do_record_external(Event&, const CaptureState&) { not_overridden(*this, F::external_events); }
void Stream::do_wait_external(const Event&, const CaptureState&) { not_overridden(*this, F::external_events); }
void Stream::do_launch_host_function(HostFunction&&, const CaptureState&) { not_overridden(*this, F::host_functions); }
void Stream::do_add_callback(StreamCallback&&) { not_overridden(*this, F::stream_callbacks); }
std::uint64_t Stream::do_begin_capture(CaptureMode) { not_overridden(*this, F::graph_capture); }
GraphPtr Stream::do_end_capture(CaptureResources&&) { not_overridden(*this, F::graph_capture); }
CaptureState Stream::do_capture_state() const { return {}; }
GraphPtr Stream::do_captured_graph() const { return nullptr; }
void Stream::do_keep_in_graph(const ModulePtr&, const CaptureState&) {}
std::uint64_t Stream::do_resume_capture(const GraphPtr&, CaptureMode) { not_overridden(*this, F::capture_into_graph); }
void Stream::do_add_child_graph(const Graph&, const CaptureState&) { not_overridden(*this, F::graph_child_nodes); }
void Stream::do_capture_conditional(ConditionalKind, const std::uint32_t*, UniqueFunction<void(Stream&)>&&,
                                    const CaptureState&) {
  not_overridden(*this, F::graph_conditional_nodes);
}
void Stream::do_copy_peer(void* destination, const Device&, const void* source, const Device&, std::size_t bytes) {
  do_copy(destination, source, bytes);
}
void* Stream::do_allocate_async(std::size_t, MemoryPool*, const CaptureState&) {
  not_overridden(*this, F::async_allocation);
}
bool Stream::do_deallocate_async(void*, const CaptureState&) { not_overridden(*this, F::async_allocation); }
void Stream::do_attach(const Allocation&, AttachMode) { not_overridden(*this, F::managed_attach); }
void Stream::do_prefetch(const void*, std::size_t, PrefetchTarget) { not_overridden(*this, F::managed_prefetch); }
void Stream::do_memory_operation(const MemoryOperation& operation, const CaptureState&) {
  not_overridden(*this, operation.is_wait() ? F::wait_value_32 : F::write_value_32);
}
void Stream::do_batch(std::span<const MemoryOperation>, const CaptureState&) {
  not_overridden(*this, F::batch_memory_operations);
}
void Stream::do_launch(const Kernel&, const LaunchConfig&, void* const*, const ArgumentTypes&, const CaptureState&) {
  not_overridden(*this, F::modules);
}
SynchronizationPolicy Stream::do_synchronization_policy() const { not_overridden(*this, F::synchronization_policy); }
void Stream::do_set_synchronization_policy(SynchronizationPolicy) { not_overridden(*this, F::synchronization_policy); }
AccessPolicyWindow Stream::do_access_policy_window() const { not_overridden(*this, F::access_policy_window); }
void Stream::do_set_access_policy_window(const AccessPolicyWindow&) { not_overridden(*this, F::access_policy_window); }
void Stream::do_copy_attributes(const Stream&) { not_overridden(*this, F::synchronization_policy); }
StreamPtr Device::do_create_per_thread_stream() { not_overridden(*this, F::per_thread_default_stream); }
EventPtr Device::do_open_event(const InterprocessHandle&) { not_overridden(*this, F::interprocess_events); }
void* Device::do_register_host(void*, std::size_t) { not_overridden(*this, F::host_registration); }
void Device::do_unregister_host(void*) {}
MemoryPoolPtr Device::do_create_memory_pool(const MemoryPoolOptions&) { not_overridden(*this, F::memory_pools); }
MemoryPoolPtr Device::do_default_memory_pool() { not_overridden(*this, F::memory_pools); }
InterprocessHandle Device::do_interprocess_handle(const Allocation&) const { not_overridden(*this, F::interprocess_memory); }
void* Device::do_open_memory(const InterprocessHandle&) { not_overridden(*this, F::interprocess_memory); }
void Device::do_close_memory(void*) {}
void Device::do_enable_peer_access(const Device&) { not_overridden(*this, F::peer_access); }
void Device::do_disable_peer_access(const Device&) { not_overridden(*this, F::peer_access); }
ModulePtr Device::do_load_module(std::span<const std::byte>) { not_overridden(*this, F::modules); }
ModulePtr Device::do_compile(std::string_view, const CompileOptions&) { not_overridden(*this, F::runtime_compilation); }
int Device::do_rank_image(std::string_view architecture, std::span<const std::byte>) const {
  return architecture == properties_.architecture ? 1 : 0;
}
InterprocessHandle Event::do_interprocess_handle() const { not_overridden(*this, F::interprocess_events); }
std::string Graph::do_debug_dot() const { not_overridden(*this, F::graph_debug_dot); }
GraphPtr Graph::do_clone() const { not_overridden(*this, F::graph_clone); }
void GraphExec::do_upload(Stream&) { not_overridden(*this, F::graph_upload); }
void GraphExec::do_update(const Graph&) { not_overridden(*this, F::graph_update); }

}  // namespace weir
