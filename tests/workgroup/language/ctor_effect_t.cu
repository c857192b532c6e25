// SPDX-License-Identifier: Apache-2.0
__device__ int counter;
struct ticket_t { int v; __device__ ticket_t(int n) { v = atomicAdd(&counter, n); } };
extern "C" __global__ void k(int* out) { ticket_t t = 1; __syncthreads(); out[t.v] = t.v; }
