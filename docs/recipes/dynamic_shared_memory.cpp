// SPDX-License-Identifier: Apache-2.0
//
// How do I give a kernel dynamic shared memory, and more than 48 KiB of it?
//
// By name: `.shared_memory_bytes`. A block may have up to `shared_memory_per_block_optin` bytes. For more than 48 KiB
// CUDA needs a call of cudaFuncSetAttribute(cudaFuncAttributeMaxDynamicSharedMemorySize) first; Weir makes it with the
// launch.
#include <algorithm>
#include <cstdint>
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void reverse(int n, int* x) {
  extern __shared__ int s[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = s[n - 1 - i];
})";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::block_cooperation)) return 77;  // skipped
  const auto reverse = device.compile(source)->untyped_kernel("reverse");
  const auto stream = device.create_stream();
  const std::size_t bytes = std::min<std::size_t>(device.properties().shared_memory_per_block_optin, 64 * 1024);
  const int n = static_cast<int>(bytes / sizeof(int));
  std::vector<int> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = i;
  const auto x = device.allocate<int>(values.size());

  stream->copy(x, values);
  stream->launch(reverse, {.grid = 1, .block = 256, .shared_memory_bytes = static_cast<std::uint32_t>(bytes)}, n, x);
  const std::vector<int> reversed(values.rbegin(), values.rend());
  return stream->read(x) == reversed ? 0 : 1;
}
