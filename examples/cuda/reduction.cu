// SPDX-License-Identifier: Apache-2.0
// A sum in two steps: warps by shuffles, blocks through shared memory.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

template <class T>
__device__ T warp_sum(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

// Thread 0 returns the sum of the block's values.
template <int threads, class T>
__device__ T block_sum(T value) {
  __shared__ T sums[threads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value = warp_sum(value);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  return warp == 0 ? warp_sum(lane < threads / 32 ? sums[lane] : T(0)) : T(0);
}

template <int threads, class In, class T>
__global__ void sum(const In* values, int n, T* results) {
  T mine = 0;
  for (int i = blockIdx.x * threads + threadIdx.x; i < n; i += gridDim.x * threads) mine += values[i];
  mine = block_sum<threads>(mine);
  if (threadIdx.x == 0) results[blockIdx.x] = mine;
}

int main() {
  constexpr int n = 1'000'003, blocks = 64, threads = 256;
  std::vector<float> values(n);
  double expected = 0;
  for (int i = 0; i < n; ++i) expected += values[i] = 1.0f / (1 + i % 1000);

  float* device_values;
  double *partial, *total;
  CHECK(cudaMalloc(&device_values, n * sizeof(float)));
  CHECK(cudaMalloc(&partial, blocks * sizeof(double)));
  CHECK(cudaMalloc(&total, sizeof(double)));
  CHECK(cudaMemcpy(device_values, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));

  sum<threads><<<blocks, threads>>>(device_values, n, partial);
  sum<threads><<<1, threads>>>(partial, blocks, total);
  CHECK(cudaGetLastError());

  double result = 0;
  CHECK(cudaMemcpy(&result, total, sizeof(double), cudaMemcpyDeviceToHost));
  std::printf("sum %.6f, on the host %.6f\n", result, expected);

  CHECK(cudaFree(device_values));
  CHECK(cudaFree(partial));
  CHECK(cudaFree(total));
  return !(std::abs(result - expected) <= 1e-9 * expected);
}
