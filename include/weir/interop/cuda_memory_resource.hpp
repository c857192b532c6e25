// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/memory_resource>
#include <cuda/stream_ref>
#include <cuda/version>

#include <concepts>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "weir/device.hpp"
#include "weir/interop/allocation_table.hpp"
#include "weir/interop/cuda.hpp"
#include "weir/memory.hpp"
#include "weir/result.hpp"
#include "weir/stream.hpp"

#if CCCL_VERSION < 3002000
#error "weir/interop/cuda_memory_resource.hpp needs CCCL 3.2 or newer (nvidia-cuda-cccl on PyPI, or CUDA 13.1)"
#endif

/// Adapters between Weir's memory and CCCL's memory resources: `MemoryResource` makes Weir's memory a cuda::mr::resource,
/// and `allocate_bytes` allocates from such a resource. Needs CCCL 3.2 or newer, which RMM supports since 26.06, and the
/// headers of the CUDA runtime.
namespace weir::cuda {

/// Wraps a CCCL stream. For RMM's `cuda_stream_view` and the runtime's cudaStream_t, use the overload in
/// weir/interop/cuda.hpp.
template <std::same_as<::cuda::stream_ref> S>
StreamPtr wrap(Device& device, S stream) {
  return wrap(device, stream.get());
}

/// A memory resource of device memory for CCCL and RMM: models cuda::mr::resource_with<cuda::mr::device_accessible>. Memory
/// is allocated from `pool`, or from the device's default pool, in the order of the stream that is passed to `allocate`, and
/// is aligned to 256 bytes. If `deallocate` gets another stream, the memory is freed after the work of both streams. Copies
/// of a resource share one state and compare equal. All memory must be deallocated before the last copy is destroyed. Any
/// thread.
class MemoryResource {
 public:
  /// Throws `wrong_device` if `device` is not a CUDA device; `unsupported` if it lacks the feature `async_allocation`.
  explicit MemoryResource(Device& device, MemoryPoolPtr pool = {})
      : state_(std::make_shared<State>(device, std::move(pool))) {
    detail::cuda_only(device, "cuda::MemoryResource");
    device.require({Feature::async_allocation});
  }

  /// Allocates memory for work that is enqueued on `stream` after this call. Throws std::bad_alloc for an alignment beyond
  /// 256 bytes.
  void* allocate(::cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    check(alignment);
    const StreamPtr home = wrap(state_->device, stream);
    return state_->allocations.keep(home->allocate_bytes_async(bytes == 0 ? 1 : bytes, state_->pool));
  }
  /// Frees memory after the work enqueued on `stream` and on the stream that allocated it.
  void deallocate(::cuda::stream_ref stream, void* data, std::size_t, std::size_t = default_alignment) noexcept {
    AllocationPtr last = state_->allocations.take(data);
    if (!last || last->stream() == nullptr || last->stream()->native_handle() == stream.get()) return;
    // If the allocating stream cannot wait for `stream`, for example because one of them is capturing, keep the memory until
    // the resource is destroyed.
    const auto ordered = attempt([&] { last->stream()->wait(wrap(state_->device, stream)); });
    if (!ordered) (void)attempt([&] { state_->allocations.keep(std::move(last)); });
  }
  /// Allocates memory that any stream may use as soon as the call returns.
  void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment) {
    check(alignment);
    return state_->allocations.keep(state_->device.allocate_bytes(bytes == 0 ? 1 : bytes));
  }
  /// Frees memory of `allocate_sync`. All work that uses the memory must be done.
  void deallocate_sync(void* data, std::size_t, std::size_t = default_alignment) noexcept {
    (void)state_->allocations.take(data);
  }

  friend bool operator==(const MemoryResource& a, const MemoryResource& b) noexcept { return a.state_ == b.state_; }
  friend bool operator!=(const MemoryResource& a, const MemoryResource& b) noexcept { return a.state_ != b.state_; }
  friend constexpr void get_property(const MemoryResource&, ::cuda::mr::device_accessible) noexcept {}

 private:
  static constexpr std::size_t default_alignment = 256;
  static void check(std::size_t alignment) {
    if (alignment > default_alignment) throw std::bad_alloc();
  }

  struct State {
    State(Device& d, MemoryPoolPtr p) : device(d), pool(std::move(p)) {}

    Device& device;
    MemoryPoolPtr pool;
    weir::detail::AllocationTable allocations;
  };
  std::shared_ptr<State> state_;
};

/// Allocates memory from `resource`, a cuda::mr::resource or an RMM resource. The allocation keeps a copy of `resource`. The
/// memory is allocated and freed in the order of `stream`. Before the last owner releases the allocation, `stream` must wait
/// for work of other streams that uses the memory, as with `Stream::allocate_async`.
template <::cuda::mr::resource Resource>
AllocationPtr allocate_bytes(Resource resource, StreamPtr stream, std::size_t bytes, std::size_t alignment = 256) {
  const ::cuda::stream_ref native(weir::cuda::stream(stream));
  void* const data = resource.allocate(native, bytes, alignment);
  auto owner = [resource, stream, native, bytes, alignment](void* memory) mutable {
    resource.deallocate(native, memory, bytes, alignment);
  };
  try {
    return stream->device().adopt_memory(data, bytes, MemoryKind::device, owner);
  } catch (...) {
    owner(data);
    throw;
  }
}

}  // namespace weir::cuda
