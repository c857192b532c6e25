// SPDX-License-Identifier: Apache-2.0
#include "shared.cuh"

__global__ void run(float* data) {
  Body body = {1, 0};
  data[threadIdx.x] = from_other(float(threadIdx.x), &body) + body.mass + float(body.hits);
  atomicAdd(&total, 1);
}

int main() {
  Numbers<float, 8> data;
  run<<<1, 8>>>(data.device);
  CHECK_KERNEL();
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
  CHECK_KERNEL();
  return 0;
}
