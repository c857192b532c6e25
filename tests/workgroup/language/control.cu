// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void k(int* out) { int x = 0; int& r = x; r = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }
