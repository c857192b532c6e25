// SPDX-License-Identifier: Apache-2.0
#include <functional>
extern "C" __global__ void k(int* out) { int x = 0; std::reference_wrapper<int> r(x); r.get() = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }
