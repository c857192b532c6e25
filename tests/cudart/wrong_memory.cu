// SPDX-License-Identifier: Apache-2.0
// A program with wrong memory, for the test that `validate` finds it: a copy that is longer than its destination, memory
// that is used after cudaFree, and memory that is never freed.
#include <cuda_runtime.h>

__global__ void fill(int* numbers, int value) { numbers[blockIdx.x * blockDim.x + threadIdx.x] = value; }

int main() {
  int *numbers = nullptr, *few = nullptr;
  cudaMalloc(&numbers, 4096);
  cudaMalloc(&few, 1024);
  fill<<<4, 256>>>(numbers, 21);
  cudaMemcpy(few, numbers, 4096, cudaMemcpyDeviceToDevice);
  cudaFree(numbers);
  fill<<<4, 256>>>(numbers, 42);
  return 0;
}
