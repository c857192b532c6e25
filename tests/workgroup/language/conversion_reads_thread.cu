// SPDX-License-Identifier: Apache-2.0
struct Lane { int o; __device__ operator int() const { return threadIdx.x + o; } };
__device__ Lane none() { return {0}; }
extern "C" __global__ void k(int* out) { const Lane lane = {0}; int v = lane; __syncthreads(); out[threadIdx.x] = v; }
