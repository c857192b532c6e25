// SPDX-License-Identifier: Apache-2.0

// Uses CCCL's memory resources, which RMM also accepts: CCCL uses Weir's memory, and Weir uses CCCL's. Needs CCCL 3.2.

#include "weir/interop/cuda_memory_resource.hpp"

#include <cuda/memory_pool>
#include <cuda/memory_resource>

#include <vector>

#include "check.hpp"

namespace {

static_assert(::cuda::mr::resource_with<weir::cuda::MemoryResource, ::cuda::mr::device_accessible>);
static_assert(!::cuda::mr::synchronous_resource_with<weir::cuda::MemoryResource, ::cuda::mr::host_accessible>);

bool share_memory() {
  constexpr std::size_t count = 1 << 20;
  weir::Device& device = weir::cuda::device(0);
  const weir::StreamPtr stream = device.create_stream(), other = device.create_stream();
  const ::cuda::stream_ref native(weir::cuda::stream(stream)), second(weir::cuda::stream(other));

  // Use Weir's pool as a cuda::mr::resource.
  const weir::MemoryPoolPtr pool = device.create_memory_pool();
  ::cuda::mr::any_resource<::cuda::mr::device_accessible> resource(weir::cuda::MemoryResource(device, pool));
  void* const theirs = resource.allocate(native, count * sizeof(int), 256);
  const bool from_pool = pool->used_bytes() >= count * sizeof(int);

  // Use CCCL's pool for the memory of a Buffer.
  auto cccl_pool = ::cuda::device_default_memory_pool(::cuda::devices[0]);
  weir::Buffer<int> mine(weir::cuda::allocate_bytes(cccl_pool, stream, count * sizeof(int)), count);
  stream->fill(mine, 42);
  const weir::Span<int> elements(static_cast<int*>(theirs), count);
  stream->copy(elements, mine);
  mine.reset();  // CCCL's pool frees it, after the copy
  other->wait(stream);
  const std::vector<int> result = other->read(elements);
  resource.deallocate(second, theirs, count * sizeof(int), 256);  // not on the stream that it was allocated on
  stream->synchronize();
  const bool right = result == std::vector<int>(count, 42) && from_pool && pool->used_bytes() == 0;
  std::printf("memory resources on %s: %s\n", device.properties().name.c_str(), right ? "right" : "WRONG");
  return right;
}

}  // namespace

int main() { return run_example(share_memory); }
