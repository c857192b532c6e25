// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void apply(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] -= 3;
}
