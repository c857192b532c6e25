// SPDX-License-Identifier: Apache-2.0
// Inline PTX that reads special registers.
#include "check.h"

__device__ unsigned int lane() {
  unsigned int number;
  asm("mov.u32 %0, %%laneid;" : "=r"(number));
  return number;
}
__device__ unsigned int processor() {
  unsigned int number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
__global__ void read(int* lanes, int* processors) {
  const unsigned int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  lanes[i] = int(lane());
  processors[i] = int(processor());
  __syncthreads();
  if (lane() == 3) lanes[i] = -1;
}

int main() {
  Numbers<int, 180> lanes, processors;
  read<<<1, dim3(12, 5, 3)>>>(lanes.device, processors.device);
  CHECK_KERNEL();
  int count = 0;
  CHECK_CALL(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  lanes.read();
  processors.read();
  for (int i = 0; i < 180; ++i) {
    CHECK(lanes.host[i] == (i % 32 == 3 ? -1 : i % 32));
    CHECK(processors.host[i] >= 0 && processors.host[i] < count);
  }
  return 0;
}
