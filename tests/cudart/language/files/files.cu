// SPDX-License-Identifier: Apache-2.0
#include "shared.cuh"

static __managed__ int managed_in_each = 1000;

__global__ void run(float* data) {
  atomicAdd(&managed, 1);
  atomicAdd(&managed_in_each, 1);
  Body body = {0.5f, 0};
  body.grow(0.5f);
  data[threadIdx.x] = from_other(float(threadIdx.x), &body) + body.mass + float(body.hits);
  atomicAdd(&total, 1);
}
__global__ void add_up(int* out, int value) {
  extern __shared__ int numbers[];
  numbers[threadIdx.x] = value * int(threadIdx.x);
  const int sum = sum_of_block(next_number());
  out[threadIdx.x] = operation(sum) + numbers[threadIdx.x];
}

int main() {
  CHECK(managed == 11 && managed_of_host == 12 && managed_in_each == 1000);
  managed_of_host = managed = 20;
  Numbers<float, 8> data;
  run<<<1, 8>>>(data.device);
  CHECK_KERNEL();
  CHECK(managed == 28 && managed_of_host == 20 && managed_in_each == 1008);
  for (int i = 0; i < 8; ++i) CHECK(data.read()[i] == (i + 0.5f) * float(i % 4 + 1) + 1 + 8);
  int n = 0;
  CHECK_CALL(cudaMemcpyFromSymbol(&n, total, sizeof(n)));
  CHECK(n == 108);
  CHECK(launch_other(data.device) == 0);
  kernel_of_other<<<1, 2>>>(data.device);
  CHECK_CALL(cudaMemcpyFromSymbol(&n, total, sizeof(n)));
  CHECK(n == 108 + 4 * 7);
  CHECK_CALL(cudaMemcpyFromSymbol(&n, own, sizeof(n)));
  CHECK(n == 0);
  count_own<<<1, 1>>>(3);
  CHECK_CALL(cudaMemcpyFromSymbol(&n, own, sizeof(n)));
  CHECK(n == 3);

  // Threads of 64 wait for each other in the other file.
  Numbers<int, 64> sums;
  add_up<<<1, 64, 64 * sizeof(int)>>>(sums.device, 10);
  CHECK_KERNEL();
  const int sum = 64 * 5 + 63 * 32;
  for (int i = 0; i < 64; ++i) CHECK(sums.read()[i] == 2 * sum + 10 * i);

  // Symbols that the other file defines.
  const float changed[4] = {5, 6, 7, 8};
  CHECK_CALL(cudaMemcpyToSymbol(factors, changed, sizeof(changed)));
  run<<<1, 4>>>(data.device);
  CHECK_KERNEL();
  for (int i = 0; i < 4; ++i) CHECK(data.read()[i] == (i + 0.5f) * float(i + 5) + 1 + 4);
  size_t size = 0;
  CHECK_CALL(cudaGetSymbolSize(&size, factors));
  CHECK(size == sizeof(changed));

  fill<<<1, 8>>>(data.device, 2.5f);
  CHECK_KERNEL();
  for (int i = 0; i < 8; ++i) CHECK(data.read()[i] == 2.5f);
  return 0;
}
