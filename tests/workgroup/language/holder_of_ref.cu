// SPDX-License-Identifier: Apache-2.0
template <class T> struct Holder { T ref; __device__ explicit Holder(T r) : ref(r) {} };
extern "C" __global__ void k(int* out) { int x = 0; Holder<int&> h(x); h.ref = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }
