// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/memory_pool.hpp"
#include "backends/gpu/stream.hpp"

/// GpuStream: functions for copies, stream-ordered memory and memory operations.
namespace weir::gpu {

// --- Copies ------------------------------------------------------------------------------------------------------------

/// When a graph is launched, CUDA's driver (580) reads the pageable source of a copy at once, so before any host function of
/// the graph could write the source.
template <class Api>
void GpuStream<Api>::throw_if_read_early(const void* source) const {
  const char* const operation = "Stream::copy";
  if (!api_.reads_early(source)) return;
  const Capture capture = this->capture();
  if (capture.status != CaptureStatus::active) return;
  for (const auto node : nodes_of(api_, capture.graph, operation, *this)) {
    NodeKind kind{};
    check(api_.node_kind(node, kind), operation);
    if (kind != NodeKind::host_function) continue;
    throw Error(
        Errc::capture_unsupported, operation, describe(),
        "the source is pageable memory, which the driver reads when the graph is launched, before captured host functions "
        "run; copy from pinned memory (MemoryKind::pinned, or Device::register_host); the capture continues");
  }
}

// --- Batches of copies ------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_copy_batch(std::span<const BatchCopy> copies, SourceAccess access, const CaptureState& capture) {
  const char* const operation = "Stream::copy_batch";
  // Drivers do not capture a batch of copies, and do not accept one on the legacy default stream.
  if (api_.copies_batches() && !capture && kind() != StreamKind::legacy_default) {
    // cuMemcpyBatchAsync needs a current context; other copies derive it from the stream
    const auto current = device_.make_current();
    return submit(operation, [&] { return api_.copy_batch_async(copies, access, native()); });
  }
  for (const BatchCopy& copy : copies) {
    if (copy.bytes == 0) continue;
    if (device_.captures_host_functions()) [[unlikely]]
      throw_if_read_early(copy.source);
    submit(operation, [&] { return api_.copy_async(copy.destination, copy.source, copy.bytes, native()); });
  }
}

// --- Stream-ordered memory --------------------------------------------------------------------------------------------

template <class Api>
void* GpuStream<Api>::do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture) {
  const char* const operation = "Stream::allocate_async";
  throw_if_in_conditional_body(capture, operation, "allocations");
  void* memory = nullptr;
  const auto from = pool != nullptr ? static_cast<GpuMemoryPool<Api>*>(pool)->native() : typename Api::PoolHandle{};
  const auto allocate = [&] { return submitted([&] { return api_.allocate_async(memory, bytes, from, native()); }); };
  const auto allocate_beside_captures = [&] {
    // External code may be capturing; the core has already checked Weir's own captures.
    const CaptureModeScope<Api> relaxed(api_);
    return allocate();
  };
  const auto result = capture ? allocate() : allocate_beside_captures();
  if (result != Api::success) [[unlikely]] fail(api_, result, operation, describe(), api_.refusal_of_memory(result));
  if (pool == nullptr || capture) [[likely]]
    return memory;  // no record is needed: the graph owns memory that its nodes allocate
  if (const auto& own = static_cast<GpuMemoryPool<Api>*>(pool)->own()) record_memory(memory, own);
  return memory;
}

/// Frees memory that may belong to one of Weir's pools.
template <class Api>
bool GpuStream<Api>::free_to_pool(void* memory, const CaptureState& capture) {
  // The entry is removed before the free, because the driver may then reuse the address for other memory.
  const std::shared_ptr<NativePool<Api>> pool = device_.forget_memory(memory);
  if (pool == nullptr) return free(memory, capture);
  struct Kept {
    NativePool<Api>* pool;
    ~Kept() {
      if (pool != nullptr) pool->leak();  // the free failed, so the driver still uses the memory
    }
  } kept{pool.get()};
  if (!free(memory, capture)) {
    device_.record_memory(memory, pool);
    kept.pool = nullptr;
    return false;
  }
  kept.pool = nullptr;
  const bool by_thread = kind() == StreamKind::per_thread_default;
  const bool on_legacy = kind() == StreamKind::legacy_default || (by_thread && is_of_another_thread());
  const Submission submission(*this);
  const CaptureModeScope<Api> relaxed(api_);
  pool->freed_on(on_legacy ? api_.legacy_stream() : native(), by_thread ? 0 : id_.load(std::memory_order_relaxed),
                 native_stream_);
  return true;
}

template <class Api>
[[gnu::always_inline]] inline bool GpuStream<Api>::free(void* memory, const CaptureState& capture) const {
  if (kind() == StreamKind::legacy_default || (kind() == StreamKind::per_thread_default && is_of_another_thread())) {
    return free_on_legacy_stream(memory);
  }
  const auto free = [&] { return api_.free_async(memory, native()); };
  if (capture) return is_freed(submitted(free));  // becomes a node of this stream's own capture
  // The free does not affect captures of other streams, whatever their mode.
  const CaptureModeScope<Api> relaxed(api_);
  const Result result = submitted(free);
  return result == Api::success || is_freed(result);
}

// --- Memory operations ------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::check_memory_operation(Result result, const char* operation) const {
  if (result == Api::success) [[likely]] return;
  fail(api_, result, operation, describe(),
       Api::meaning(result).errc == Errc::invalid_argument
           ? "the driver refused the operation; its address must be in memory that is allocated through Weir or registered, "
             "not in pageable memory"
           : Api::meaning(result).detail);
}

template <class Api>
void GpuStream<Api>::do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState& capture) {
  const char* const name = "Stream::batch_memory_operations";
  throw_if_in_conditional_body(capture, name, "memory operations");
  device_.set_has_work_that_waits();
  if (operations.size() > Api::max_batch && !api_.orders_submissions()) {
    batch_as_graph(operations, capture);
    return;
  }
  const Submission submission(*this);
  std::array<typename Api::BatchOperation, Api::max_batch> batch;
  while (!operations.empty()) {  // loops only for drivers whose order lock keeps several calls together
    const std::size_t count = std::min(operations.size(), batch.size());
    for (std::size_t i = 0; i < count; ++i) Api::fill_batch_operation(batch[i], operations[i]);
    check_memory_operation(api_.batch(native(), batch.data(), count), name);
    operations = operations.subspan(count);
  }
}

/// Submits a batch that is too long for one driver call as a graph. With several calls, work of other threads could come in
/// between; a graph with several nodes is one submission.
template <class Api>
void GpuStream<Api>::batch_as_graph(std::span<const MemoryOperation> operations, const CaptureState& capture) {
  const char* const name = "Stream::batch_memory_operations";
  // Declared before the executable, whose destruction would invalidate captures outside this scope.
  const CaptureModeScope<Api> relaxed(api_);
  struct Native {
    const Api& api;
    typename Api::GraphHandle graph = nullptr;
    typename Api::GraphExecHandle exec = nullptr;
    ~Native() {
      // The driver defers the destruction until the launch is over.
      const std::lock_guard lock(copy_mutex<Api>());
      if (exec != nullptr) log_failure(api, api.GraphExecDestroy(exec), "while a batch's graph was destroyed", "weir");
      if (graph != nullptr) log_failure(api, destroy_graph(api, graph), "while a batch's graph was destroyed", "weir");
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
    check_memory_operation(
        api_.add_batch_node(device_.context(), node, native_graph.graph, last != nullptr ? &last : nullptr,
                            last != nullptr ? 1 : 0, batch.data(), count),
        name);
    last = node;
    operations = operations.subspan(count);
  }
  if (capture) {
    add_child(native_graph.graph, name);
    return;
  }
  {
    const std::lock_guard lock(copy_mutex<Api>());
    check(api_.GraphInstantiateWithFlags(&native_graph.exec, native_graph.graph, 0), name);
  }
  const Submission submission(*this);
  check(api_.GraphLaunch(native_graph.exec, native()), name);
}

}  // namespace weir::gpu
