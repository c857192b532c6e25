// Kernels for the cases in bundles.cpp, compiled ahead of time.
#include "ahead.cuh"

__device__ unsigned int bonus = 7;

// Templates and other functions of C++ linkage, by the names that weir_add_kernels was given.
namespace ahead {
template <class T, int N>
__global__ void scale(const T* in, T* out) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * T(N);
}
__global__ void negate(int n, float* values) {
  if (int(threadIdx.x) < n) values[threadIdx.x] = -values[threadIdx.x];
}
}  // namespace ahead

// Turns each block around.
extern "C" __global__ void turn(const unsigned int* in, unsigned int* out) {
  __shared__ unsigned int values[64];
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = AHEAD_FACTOR * in[i] + AHEAD_OFFSET + bonus;
  __syncthreads();
  out[i] = values[blockDim.x - 1 - threadIdx.x];
}
