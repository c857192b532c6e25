// SPDX-License-Identifier: Apache-2.0
// Launches that are too large: for the kernel's __launch_bounds__, and for blocks that wait for each other.
#include <cooperative_groups.h>

#include "check.h"

__global__ void __launch_bounds__(64) bounded(int* out) { out[threadIdx.x] = 1; }
template <int most>
__global__ __launch_bounds__(2 * most, 1) void bounded_by(int* out) {
  out[threadIdx.x] = 2;
}
__global__ void unbounded(int* out) { out[threadIdx.x] = 3; }
__global__ void meet() { cooperative_groups::this_grid().sync(); }

int main() {
  Numbers<int, 1024> out;
  cudaFuncAttributes attributes;
  CHECK_CALL(cudaFuncGetAttributes(&attributes, bounded));
  CHECK(attributes.maxThreadsPerBlock == 64);
  CHECK_CALL(cudaFuncGetAttributes(&attributes, bounded_by<48>));
  CHECK(attributes.maxThreadsPerBlock == 96);
  CHECK_CALL(cudaFuncGetAttributes(&attributes, unbounded));
  CHECK(attributes.maxThreadsPerBlock == 1024);
  bounded<<<1, 65>>>(out.device);
  CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  bounded_by<48><<<1, dim3(97)>>>(out.device);
  CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  bounded<<<1, 64>>>(out.device);
  bounded_by<48><<<1, 96>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[95] == 2);
  CHECK(out.host[96] == 96);

  int blocks = 0, processors = 0;
  CHECK_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meet, 64, 0));
  CHECK_CALL(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  const int most = blocks * processors;
  void* none[1];
  CHECK(cudaLaunchCooperativeKernel((void*)meet, dim3(most + 1), dim3(64), none) == cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
  CHECK_CALL(cudaLaunchCooperativeKernel((void*)meet, dim3(most), dim3(64), none));
  CHECK_KERNEL();
  return 0;
}
