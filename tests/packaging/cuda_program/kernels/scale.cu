// SPDX-License-Identifier: Apache-2.0
#include <factor.cuh>

#include "program.h"

static __global__ void multiply(int n, int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= FACTOR;
}

void scale(int n, int* x) { multiply<<<(n + 255) / 256, 256>>>(n, x); }
