// SPDX-License-Identifier: Apache-2.0
// A program with a missing wait, for the test that `weir race` finds it: `twice` reads what `fill` writes on another stream.
#include <cuda_runtime.h>

__global__ void fill(int* numbers, int value) { numbers[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void twice(const int* numbers, int* results) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  results[i] = 2 * numbers[i];
}

int main() {
  int *numbers = nullptr, *results = nullptr;
  cudaMalloc(&numbers, 4096);
  cudaMalloc(&results, 4096);
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  fill<<<4, 256, 0, first>>>(numbers, 21);
  twice<<<4, 256, 0, second>>>(numbers, results);
  return cudaDeviceSynchronize();
}
