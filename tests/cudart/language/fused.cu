// SPDX-License-Identifier: Apache-2.0
// A product and a sum are one operation, as in nvcc; with -fmad=false, which the test passes with SEPARATE, they are two.
#include "check.h"

__global__ void compute(float* numbers, float a, float b) { numbers[0] = a * b + numbers[0]; }

int main() {
  const float a = 1 + 0x1p-12f;  // a * a is 1 + 2^-11 + 2^-24, of which a float keeps no 2^-24
  Numbers<float, 1> number;
  const float before = -(1 + 0x1p-11f);
  CHECK_CALL(cudaMemcpy(number.device, &before, sizeof before, cudaMemcpyHostToDevice));
  compute<<<1, 1>>>(number.device, a, a);
  CHECK_KERNEL();
#ifdef SEPARATE
  CHECK(number.read()[0] == 0);
#else
  CHECK(number.read()[0] == 0x1p-24f || number.read()[0] == 0);  // a CPU may lack the operation
#endif
  return 0;
}
