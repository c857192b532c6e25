// SPDX-License-Identifier: Apache-2.0
namespace a { enum { rank = 3 }; }
namespace b { __device__ int rank() { return threadIdx.x; } __device__ int mine(int* out) { int r = rank(); __syncthreads(); out[threadIdx.x] = r; return r; } }
extern "C" __global__ void k(int* out) { b::mine(out); }
