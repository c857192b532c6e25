// SPDX-License-Identifier: Apache-2.0
#include "shared.cuh"
#if !defined(__CUDACC_RDC__)
#error
#endif

__device__ int total = 100;
__managed__ int managed = 11;
__managed__ int managed_of_host = 12;
static __managed__ int managed_in_each = 1;
__constant__ float factors[4] = {1, 2, 3, 4};

__device__ void Body::grow(float by) { mass += by; }

__device__ float from_other(float x, Body* body) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();  // called by a kernel of the other file
  atomicAdd(&count, 1);
  __syncthreads();
  body->hits += count;
  return in_both(x) * factors[threadIdx.x % 4];
}
// The sum of the values of a block's threads.
__device__ int sum_of_block(int value) {
  __shared__ int warps[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  int sum = 0;
  for (unsigned i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
  return sum;
}
static __device__ int twice(int n) { return 2 * n; }
__device__ Operation operation = twice;

__global__ void kernel_of_other(float* data) {
  own = 7;
  atomicAdd(&managed_in_each, 1);
  atomicAdd(&total, own);
  data[threadIdx.x] = float(own);
}
__global__ void numbers_of_other(int* out) { out[threadIdx.x] = next_number(); }

int launch_other(float* data) {
  kernel_of_other<<<1, 2>>>(data);
  int n = 0;
  CHECK_CALL(cudaMemcpyFromSymbol(&n, own, sizeof(n)));
  CHECK(n == 7 && managed_in_each == 3);
  count_own<<<1, 1>>>(10);
  CHECK_CALL(cudaMemcpyFromSymbol(&n, own, sizeof(n)));
  CHECK(n == 17);
  fill<<<1, 2>>>(data, 1.5f);
  CHECK_KERNEL();
  Numbers<int, 4> numbers;
  numbers_of_other<<<1, 4>>>(numbers.device);
  for (int i = 0; i < 4; ++i) CHECK(numbers.read()[i] == 5 + i);
  return 0;
}
