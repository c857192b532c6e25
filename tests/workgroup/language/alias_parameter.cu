// SPDX-License-Identifier: Apache-2.0
using Out = int&;
__device__ void set(Out o) { o = threadIdx.x; }
extern "C" __global__ void k(int* out) { int x = 0; set(x); __syncthreads(); out[threadIdx.x] = x; }
