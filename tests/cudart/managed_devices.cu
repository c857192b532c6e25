// SPDX-License-Identifier: Apache-2.0
// A program has managed variables on one device. Host code may use them whichever device is the current one.
#include "language/check.h"

__managed__ int count = 3;
__global__ void add() { ++count; }

int main() {
  add<<<1, 1>>>();
  CHECK_KERNEL();
  CHECK_CALL(cudaSetDevice(1));
  CHECK(count == 4);
  add<<<1, 1>>>();
  CHECK(cudaGetLastError() == cudaErrorNotSupported);
  CHECK_CALL(cudaSetDevice(0));
  CHECK_CALL(cudaDeviceReset());
  CHECK_CALL(cudaSetDevice(1));
  add<<<1, 1>>>();
  CHECK_KERNEL();
  return 0;
}
