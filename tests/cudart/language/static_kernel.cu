// SPDX-License-Identifier: Apache-2.0
// Kernels and variables with internal linkage: static, and in an unnamed namespace; a variable of a kernel's own.
#include "check.h"

static __device__ int calls;
namespace {
__device__ int others = 5;
__constant__ int step = 3;
__global__ void add(int* out) {
  atomicAdd(&others, step);
  *out = others;
}
}  // namespace

static __global__ void count() { atomicAdd(&calls, 1); }

__global__ void own(int* out) {
  static int kept = 7;  // one for all threads and launches
  *out = atomicAdd(&kept, 1);
}

int main() {
  Numbers<int, 1> out;
  count<<<4, 8>>>();
  int n = 0;
  CHECK_CALL(cudaMemcpyFromSymbol(&n, calls, sizeof(n)));
  CHECK(n == 32);
  add<<<1, 1>>>(out.device);
  CHECK(out.read()[0] == 8);
  own<<<1, 1>>>(out.device);
  own<<<1, 1>>>(out.device);
  CHECK(out.read()[0] == 8);
  CHECK_KERNEL();
  return 0;
}
