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

/// Uses Weir's memory as a cuda::mr::resource, and the memory of such a resource in Weir. Needs CCCL 3.2 or newer, which RMM
/// supports since 26.06, and a compiler that finds the CUDA runtime's headers.
namespace weir::cuda {

/// Wraps a CCCL stream. For RMM's `cuda_stream_view` and the runtime's cudaStream_t use the other `wrap`.
template <std::same_as<::cuda::stream_ref> S>
StreamPtr wrap(Device& device, S stream) {
  return wrap(device, stream.get());
}

/// Device memory as CCCL and RMM allocate it: models cuda::mr::resource_with<cuda::mr::device_accessible>. Copies share one
/// state and are equal. Any thread. Memory comes from `pool`, or from the device's default pool, in the order of the stream
/// that is passed to `allocate`, aligned to 256 bytes. A free on another stream comes after the work of both streams. All
/// memory must be deallocated before the last copy is destroyed.
class MemoryResource {
 public:
  /// Throws `wrong_device` unless `device` is a CUDA device, and `unsupported` without the feature `async_allocation`.
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
  /// Frees memory after the work of `stream`, and of the stream of its allocation.
  void deallocate(::cuda::stream_ref stream, void* data, std::size_t, std::size_t = default_alignment) noexcept {
    AllocationPtr last = state_->allocations.take(data);
    if (!last || last->stream() == nullptr || last->stream()->native_handle() == stream.get()) return;
    // If the free cannot be ordered after the other stream's work, the memory is kept until the resource is destroyed.
    const auto ordered = attempt([&] { last->stream()->wait(wrap(state_->device, stream)); });
    if (!ordered) (void)attempt([&] { state_->allocations.keep(std::move(last)); });
  }
  /// Allocates memory that any stream may use at once.
  void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment) {
    check(alignment);
    return state_->allocations.keep(state_->device.allocate_bytes(bytes == 0 ? 1 : bytes));
  }
  /// Frees memory of `allocate_sync`. Work that uses it must be over.
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

/// Allocates memory from `resource`, a cuda::mr::resource or an RMM resource (copied), in the order of `stream`, and later
/// frees it in that order. Work on other streams must be ordered before the last owner's release, as with
/// `Stream::allocate_async`.
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
