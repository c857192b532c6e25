// SPDX-License-Identifier: Apache-2.0
//
// How do I sum an array?
//
// Reduce within a block in shared memory, then add each block's sum with one atomic addition. The same source runs on
// GPUs and on the CPU.
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void sum(int n, const int* x, int* total) {
  __shared__ int s[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(total, s[0]);
})";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::block_cooperation)) return 77;  // skipped
  const auto sum = device.compile(source)->untyped_kernel("sum");
  const auto stream = device.create_stream();
  const int n = 100000;
  const auto x = device.allocate<int>(n), total = device.allocate<int>(1);
  stream->fill(x, 3);
  stream->zero(total);
  stream->launch(sum, weir::grid_for(n, 256), n, x, total);
  return stream->read(total).front() == 3 * n ? 0 : 1;
}
