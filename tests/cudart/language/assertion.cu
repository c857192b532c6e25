// SPDX-License-Identifier: Apache-2.0
// A failed assertion of a kernel makes later calls fail; one that holds does nothing; host code asserts, too.
#include <cassert>

#include "check.h"

__host__ __device__ int checked(int x) {
  assert(x >= 0);
  return x + 1;
}
__global__ void hold(int* out) { out[threadIdx.x] = checked(int(threadIdx.x)); }
__global__ void fail(int limit) { assert(int(threadIdx.x) < limit && "too many"); }

int main() {
  Numbers<int, 4> out;
  hold<<<1, 4>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[3] == checked(3));
  fail<<<1, 32>>>(8);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  return 0;
}
