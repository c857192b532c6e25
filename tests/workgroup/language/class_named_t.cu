// SPDX-License-Identifier: Apache-2.0
struct lane_t { int v; __device__ lane_t(int o) : v(threadIdx.x + o) {} __device__ operator int() const { return v; } };
extern "C" __global__ void k(int* out) { lane_t lane = 0; __syncthreads(); out[threadIdx.x] = lane; }
