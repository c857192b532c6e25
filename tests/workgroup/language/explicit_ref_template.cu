// SPDX-License-Identifier: Apache-2.0
template <class T> __device__ void set(T o) { o = threadIdx.x; }
extern "C" __global__ void k(int* out) { int x = 0; set<int&>(x); __syncthreads(); out[threadIdx.x] = x; }
