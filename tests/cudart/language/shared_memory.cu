// SPDX-License-Identifier: Apache-2.0
// Static and dynamic shared memory: arrays, structs, classes with constructors that do nothing, several types in one block.
#include "check.h"

struct Pair {
  int a, b;
  __host__ __device__ Pair() {}
  __device__ Pair(int x, int y) : a(x), b(y) {}
};

__global__ void reverse(int* data) {
  __shared__ int tile[32];
  __shared__ Pair pairs[32];
  __shared__ int total;
  const int i = threadIdx.x;
  if (i == 0) total = 0;
  tile[i] = data[i];
  pairs[i] = Pair(i, -i);
  __syncthreads();
  atomicAdd(&total, tile[i]);
  __syncthreads();
  data[i] = tile[31 - i] * 1000 + total + pairs[31 - i].a + pairs[31 - i].b;
}

extern __shared__ char raw[];
template <class T>
struct Shared {
  __device__ operator T*() { return reinterpret_cast<T*>(raw); }
};
template <class T>
__global__ void rotate(T* data, int n) {
  T* const tile = Shared<T>();
  for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = data[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = tile[(i + 1) % n];
}
__global__ void both(float* data, int n) {
  extern __shared__ float floats[];
  int* const ints = (int*)&floats[n];
  const int i = threadIdx.x;
  floats[i] = data[i];
  ints[i] = i;
  __syncthreads();
  data[i] = floats[n - 1 - i] + ints[n - 1 - i];
}

int main() {
  Numbers<int, 32> ints;
  reverse<<<1, 32>>>(ints.device);
  for (int i = 0; i < 32; ++i) CHECK(ints.read()[i] == (31 - i) * 1000 + 496);
  Numbers<double, 100> doubles;
  rotate<<<1, 32, 100 * sizeof(double)>>>(doubles.device, 100);
  CHECK(doubles.read()[99] == 0 && doubles.host[0] == 1);
  Numbers<float, 64> floats;
  both<<<1, 64, 64 * (sizeof(float) + sizeof(int))>>>(floats.device, 64);
  CHECK(floats.read()[0] == 126);
  CHECK_KERNEL();
  return 0;
}
