// SPDX-License-Identifier: Apache-2.0
enum class Axis { row, column };
__device__ int column() { return threadIdx.x; }
extern "C" __global__ void k(int* out) { __shared__ int s[64]; int c = column(); s[c] = c; __syncthreads(); out[threadIdx.x] = s[threadIdx.x]; }
