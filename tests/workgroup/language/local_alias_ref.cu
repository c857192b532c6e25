// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void k(int* out) { using R = int&; int x = 0; R r = x; r = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }
