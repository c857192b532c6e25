// SPDX-License-Identifier: Apache-2.0
// Pointers to device functions, in a table on the device and read by the host; pointers to kernels in host code.
#include "check.h"

typedef float (*Operation)(float, float);
__device__ float add(float a, float b) { return a + b; }
__device__ float multiply(float a, float b) { return a * b; }
__device__ Operation table[2] = {add, multiply};
__device__ Operation chosen = multiply;

__global__ void use_table(float* data) {
  const int i = threadIdx.x;
  data[i] = table[i & 1](data[i], 3.0f);
}
__global__ void use_argument(float* data, Operation f) { data[threadIdx.x] = f(data[threadIdx.x], 2.0f); }
template <Operation f>
__global__ void use_constant(float* data) {
  data[threadIdx.x] = f(data[threadIdx.x], 1.0f);
}
__global__ void one(float* data) { data[threadIdx.x] = 1; }
__global__ void two(float* data) { data[threadIdx.x] = 2; }

int main() {
  Numbers<float, 4> numbers;
  use_table<<<1, 4>>>(numbers.device);
  CHECK(numbers.read()[2] == 5 && numbers.host[3] == 9);
  Operation f;
  CHECK_CALL(cudaMemcpyFromSymbol(&f, chosen, sizeof(f)));
  use_argument<<<1, 4>>>(numbers.device, f);
  CHECK(numbers.read()[3] == 18);
  use_constant<add><<<1, 4>>>(numbers.device);
  CHECK(numbers.read()[3] == 19);
  void (*const kernels[])(float*) = {one, two};
  for (auto* kernel : kernels) {
    kernel<<<1, 4>>>(numbers.device);
    CHECK(numbers.read()[0] == (kernel == one ? 1 : 2));
  }
  void* arguments[] = {&numbers.device};
  CHECK_CALL(cudaLaunchKernel((const void*)kernels[0], dim3(1), dim3(4), arguments, 0, 0));
  CHECK(numbers.read()[3] == 1);
  CHECK_KERNEL();
  return 0;
}
