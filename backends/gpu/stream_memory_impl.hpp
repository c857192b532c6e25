// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/memory_pool.hpp"
#include "backends/gpu/stream.hpp"

/// GpuStream: copies, fills, stream-ordered memory, memory operations, attributes.
namespace weir::gpu {

// --- Copies and fills -------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_copy(void* destination, const void* source, std::size_t bytes) {
  const Submission submission(*this);
  check(api_.copy_async(destination, source, bytes, native()), "Stream::copy");
}

template <class Api>
void GpuStream<Api>::do_copy_2d(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                                std::size_t width_bytes, std::size_t height) {
  // The pitch of a single row is not looked at, and may be anything; a driver wants it to be a row's width all the same.
  destination_pitch = std::max(destination_pitch, width_bytes);
  source_pitch = std::max(source_pitch, width_bytes);
  const Submission submission(*this);
  check(api_.copy_2d_async(destination, destination_pitch, source, source_pitch, width_bytes, height, native()),
        "Stream::copy_2d");
}

template <class Api>
void GpuStream<Api>::do_copy_peer(void* destination, const Device& destination_device, const void* source,
                                  const Device& source_device, std::size_t bytes) {
  const auto& to = static_cast<const GpuDevice<Api>&>(destination_device);
  const auto& from = static_cast<const GpuDevice<Api>&>(source_device);
  const Submission submission(*this);
  check(api_.copy_peer_async(destination, to.context(), source, from.context(), bytes, native()), "Stream::copy_peer");
}

template <class Api>
void GpuStream<Api>::do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) {
  const Submission submission(*this);
  check(api_.fill_async(destination, value, element_size, count, native()), "Stream::fill");
}

template <class Api>
void GpuStream<Api>::do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size,
                                std::size_t width, std::size_t height) {
  const Submission submission(*this);
  check(api_.fill_2d_async(destination, pitch, value, element_size, width, height, native()), "Stream::fill_2d");
}

// --- Stream-ordered memory --------------------------------------------------------------------------------------------

template <class Api>
void* GpuStream<Api>::do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture) {
  const char* const operation = "Stream::allocate_async";
  refuse_in_conditional_body(capture, operation, "allocations");
  const Submission submission(*this);
  void* memory = nullptr;
  const auto from = pool != nullptr ? static_cast<GpuMemoryPool<Api>*>(pool)->native() : typename Api::PoolHandle{};
  const auto result = api_.allocate_async(memory, bytes, from, native());
  if (result != Api::success) [[unlikely]]
    fail(api_, result, operation, describe(), api_.refusal_of_memory(result));
  return memory;
}

/// Whether the driver refused because of another stream's capture: a blocking one where this is ordered against the legacy
/// default stream, or, with older HIP, any that is in global mode.
template <class Api>
bool GpuStream<Api>::is_in_the_way(Result result) noexcept {
  if (result == Api::success) [[likely]] return false;
  const Errc cause = Api::meaning(result).errc;
  return cause == Errc::capture_implicit || cause == Errc::capture_unsupported;
}

template <class Api>
bool GpuStream<Api>::do_deallocate_async(void* memory, const CaptureState& capture) {
  const char* const operation = "Stream::allocate_async (free)";
  const Submission submission(*this);
  // Another thread's per-thread default stream has no name here. The legacy one is ordered behind all of them.
  const bool by_legacy_stream = is_of_another_thread();
  if (by_legacy_stream || kind() == StreamKind::legacy_default) {
    Result usable{};
    {
      const std::shared_lock lock(Device_::capture_lock());
      usable = api_.ask_legacy_stream();
    }
    if (is_in_the_way(usable)) return false;
    check(usable, operation);
  }
  // Whatever other stream captures, in whatever mode: the free is none of its business. Within its own capture it is a node. On
  // the legacy stream it is ordered against captures, and the driver must be free to refuse it.
  std::optional<CaptureModeScope<Api>> relaxed;
  if (!capture && !by_legacy_stream && kind() != StreamKind::legacy_default) relaxed.emplace(api_);
  const Result result = api_.free_async(memory, by_legacy_stream ? api_.legacy_stream() : native());
  if (is_in_the_way(result)) return false;
  if (!Api::is_shut_down(result)) check(result, operation);  // then the memory has gone with the driver
  return true;
}

template <class Api>
void GpuStream<Api>::do_attach(const Allocation& managed, AttachMode mode) {
  const Submission submission(*this);
  check(api_.attach_async(native(), managed.data(), mode), "Stream::attach");
}

template <class Api>
void GpuStream<Api>::do_prefetch(const void* managed, std::size_t bytes, PrefetchTarget target) {
  const Submission submission(*this);
  check(api_.prefetch_async(managed, bytes, target == PrefetchTarget::host, device_.context(), native()), "Stream::prefetch");
}

// --- Memory operations ------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::check_memory_operation(Result result, const char* operation) const {
  if (result == Api::success) [[likely]] return;
  fail(api_, result, operation, describe(),
       Api::meaning(result).errc == Errc::invalid_argument
           ? "the driver refuses the operation; its address must be of memory that the device knows: allocated by Weir or "
             "registered, and of pageable memory it is not"
           : Api::meaning(result).detail);
}

template <class Api>
void GpuStream<Api>::do_memory_operation(const MemoryOperation& operation, const CaptureState& capture) {
  const char* const name = operation.is_wait() ? "Stream::wait_value" : "Stream::write_value";
  refuse_in_conditional_body(capture, name, "memory operations");
  const Submission submission(*this);
  check_memory_operation(api_.memory_operation(native(), operation), name);
}

template <class Api>
void GpuStream<Api>::do_batch(std::span<const MemoryOperation> operations, const CaptureState& capture) {
  const char* const name = "Stream::batch";
  refuse_in_conditional_body(capture, name, "memory operations");
  if (operations.size() > Api::max_batch && !api_.orders_submissions()) {
    batch_as_graph(operations, capture);
    return;
  }
  const Submission submission(*this);
  std::array<typename Api::BatchOperation, Api::max_batch> batch;
  while (!operations.empty()) {  // more than once only where the submission's lock keeps the parts together
    const std::size_t count = std::min(operations.size(), batch.size());
    for (std::size_t i = 0; i < count; ++i) Api::fill_batch_operation(batch[i], operations[i]);
    check_memory_operation(api_.batch(native(), batch.data(), count), name);
    operations = operations.subspan(count);
  }
}

/// A batch longer than one call takes. Several calls would let another thread's work in between; a graph of several nodes is
/// one submission.
template <class Api>
void GpuStream<Api>::batch_as_graph(std::span<const MemoryOperation> operations, const CaptureState& capture) {
  const char* const name = "Stream::batch";
  struct Native {
    const Api& api;
    typename Api::GraphHandle graph = nullptr;
    typename Api::GraphExecHandle exec = nullptr;
    ~Native() {
      // A launch that is under way is not disturbed: the driver keeps the executable until it is over.
      if (exec != nullptr) log_failure(api, api.GraphExecDestroy(exec), "while a batch's graph was destroyed", "weir");
      if (graph != nullptr) log_failure(api, api.GraphDestroy(graph), "while a batch's graph was destroyed", "weir");
    }
  } native_graph{api_};
  const auto current = device_.make_current();
  check(api_.GraphCreate(&native_graph.graph, 0), name);
  std::array<typename Api::BatchOperation, Api::max_batch> batch;
  typename Api::NodeHandle last = nullptr;
  while (!operations.empty()) {
    const std::size_t count = std::min(operations.size(), batch.size());
    for (std::size_t i = 0; i < count; ++i) Api::fill_batch_operation(batch[i], operations[i]);
    typename Api::NodeHandle node = nullptr;
    check_memory_operation(api_.add_batch_node(device_.context(), node, native_graph.graph, last != nullptr ? &last : nullptr,
                                               last != nullptr ? 1 : 0, batch.data(), count),
                           name);
    last = node;
    operations = operations.subspan(count);
  }
  if (capture) {
    add_child(native_graph.graph);
    return;
  }
  const CaptureModeScope<Api> relaxed(api_);
  check(api_.GraphInstantiateWithFlags(&native_graph.exec, native_graph.graph, 0), name);
  const Submission submission(*this);
  check(api_.GraphLaunch(native_graph.exec, native()), name);
}

// --- Attributes -------------------------------------------------------------------------------------------------------

template <class Api>
SynchronizationPolicy GpuStream<Api>::do_synchronization_policy() const {
  const Submission submission(*this);
  SynchronizationPolicy policy{};
  check(api_.get_synchronization_policy(native(), policy), "Stream::synchronization_policy");
  return policy;
}

template <class Api>
void GpuStream<Api>::do_set_synchronization_policy(SynchronizationPolicy policy) {
  const Submission submission(*this);
  check(api_.set_synchronization_policy(native(), policy), "Stream::set_synchronization_policy");
}

template <class Api>
AccessPolicyWindow GpuStream<Api>::do_access_policy_window() const {
  const Submission submission(*this);
  AccessPolicyWindow window;
  check(api_.get_access_policy_window(native(), window), "Stream::access_policy_window");
  return window;
}

template <class Api>
void GpuStream<Api>::do_set_access_policy_window(const AccessPolicyWindow& window) {
  const Submission submission(*this);
  check(api_.set_access_policy_window(native(), window), "Stream::set_access_policy_window");
}

/// One by one: the driver's own way of copying takes the priority along.
template <class Api>
void GpuStream<Api>::do_copy_attributes(const Stream& other) {
  const auto& source = static_cast<const GpuStream&>(other);
  if (device_.supports(Feature::synchronization_policy)) {
    do_set_synchronization_policy(source.do_synchronization_policy());
  }
  if (device_.supports(Feature::access_policy_window)) do_set_access_policy_window(source.do_access_policy_window());
}

}  // namespace weir::gpu
