// Compiled ahead of time, for the cases in bundles.cpp.
#include "ahead.cuh"

__device__ unsigned int bonus = 7;

// Turns each block around.
extern "C" __global__ void turn(const unsigned int* in, unsigned int* out) {
  __shared__ unsigned int values[64];
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = AHEAD_FACTOR * in[i] + AHEAD_OFFSET + bonus;
  __syncthreads();
  out[i] = values[blockDim.x - 1 - threadIdx.x];
}
