// SPDX-License-Identifier: Apache-2.0
template <class T> struct ref_of { typedef T& type; };
extern "C" __global__ void k(int* out) { int x = 0; ref_of<int>::type r = x; r = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }
