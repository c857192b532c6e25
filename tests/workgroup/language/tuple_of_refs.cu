// SPDX-License-Identifier: Apache-2.0
#include <tuple>
extern "C" __global__ void k(int* out) { int x = 0; std::tuple<int&> t(x); std::get<0>(t) = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }
