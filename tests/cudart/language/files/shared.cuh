// SPDX-License-Identifier: Apache-2.0
// Device code in several files (nvcc -rdc=true): what files.cu and other.cu share.
#pragma once
#include "../check.h"

struct Body {
  float mass;
  int hits;
  __device__ void grow(float by);
};
extern __device__ int total;
extern __constant__ float factors[4];
extern __managed__ int managed, managed_of_host;
typedef int (*Operation)(int);
extern __device__ Operation operation;
__device__ float from_other(float x, Body* body);
__device__ int sum_of_block(int value);
__global__ void kernel_of_other(float* data);
int launch_other(float* data);
inline __device__ float in_both(float x) { return x + 0.5f; }
static __device__ int own;  // one for each file

// Both files have these kernels. Of the template there is one in the program; of the other there is one for each file.
template <class T>
__global__ void fill(T* data, T value) {
  data[threadIdx.x] = value;
}
static __global__ void count_own(int n) { own += n; }

// A variable of a function that both files define.
inline __device__ int next_number() {
  __shared__ int number;
  if (threadIdx.x == 0) number = 5;
  __syncthreads();
  return number + int(threadIdx.x);
}
