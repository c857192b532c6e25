// SPDX-License-Identifier: Apache-2.0
//
// How do I keep freed memory for the next allocation (memory pools)?
//
// At a synchronize, a pool returns unused memory to the system, down to its release threshold. That is 0 unless you set
// it, so by default a GPU keeps nothing; with a high threshold the next allocation costs next to nothing. Without a
// pool, `allocate_async` uses the device's default pool, which all code of the process shares, including PyTorch and
// RMM. To keep its memory, call `device.default_memory_pool()->set_release_threshold(bytes)`. (The CPU's default pool
// keeps 64 MiB.) `used_bytes` and `reserved_bytes` return how much is in use, and how much the pool holds; `trim_to`
// returns the rest to the system.
#include <cstddef>
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::memory_pools)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto pool = device.create_memory_pool({.release_threshold = std::size_t{64} << 20U});
  for (int step = 0; step < 10; ++step) {
    const auto x = stream->allocate_async<float>(1 << 20, pool);
    stream->zero(x);
  }
  stream->synchronize();
  std::printf("%zu bytes used, %zu kept\n", pool->used_bytes(), pool->reserved_bytes());
  return pool->used_bytes() == 0 ? 0 : 1;
}
