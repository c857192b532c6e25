// SPDX-License-Identifier: Apache-2.0
struct Block { static __device__ unsigned thread_rank() { return threadIdx.x; } };
extern "C" __global__ void k(int* out) { int v = Block::thread_rank(); __syncthreads(); out[threadIdx.x] = v; }
