// SPDX-License-Identifier: Apache-2.0
struct P { int n; __device__ int operator+(int o) const { return threadIdx.x + o + n; } };
constexpr P base = {0};
extern "C" __global__ void k(int* out) { int v = base + 0; __syncthreads(); out[threadIdx.x] = v; }
