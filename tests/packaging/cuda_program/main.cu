// SPDX-License-Identifier: Apache-2.0
// Prints what two kernels, each in its own file, make of 7.
#include <cstdio>
#include <string_view>

#include "program.h"

__global__ void add(int n, int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += OFFSET;
}

int main() {
  constexpr int n = 1000;
  int* x = nullptr;
  if (cudaMallocManaged(&x, n * sizeof(int)) != cudaSuccess) return 1;
  for (int i = 0; i < n; ++i) x[i] = 7;
  scale(n, x);
  add<<<(n + 255) / 256, 256>>>(n, x);
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess || std::string_view(PROGRAM) != "a program") {
    std::fprintf(stderr, "%s: %s\n", PROGRAM, name_of(error));
    return 1;
  }
  std::printf("%d\n", x[n - 1]);
  return cudaFree(x) == cudaSuccess ? 0 : 1;
}
