// SPDX-License-Identifier: Apache-2.0
namespace row { __device__ int round() { return threadIdx.x; } }
extern "C" __global__ void k(int* out) { int v = row::round(); __syncthreads(); out[threadIdx.x] = v; }
