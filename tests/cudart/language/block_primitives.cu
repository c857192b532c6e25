// SPDX-License-Identifier: Apache-2.0
// CUB's primitives of blocks and warps.
#include <cub/cub.cuh>

#include "check.h"

struct Most {
  __device__ int operator()(int a, int b) const { return a < b ? b : a; }
};
template <int threads>
__global__ void run(const int* in, int* out) {
  typedef cub::BlockReduce<int, threads> Reduce;
  typedef cub::BlockScan<int, threads> Scan;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
  } memory;
  const int x = in[threadIdx.x];
  int before;
  const int sum = Reduce(memory.reduce).Sum(x);
  __syncthreads();
  const int most = Reduce(memory.reduce).Reduce(x, Most());
  __syncthreads();
  Scan(memory.scan).ExclusiveSum(x, before);
  out[threadIdx.x] = before;
  if (threadIdx.x == 0) out[threads] = sum, out[threads + 1] = most;
}

int main() {
  Numbers<int, 128> in;
  Numbers<int, 130> out;
  run<128><<<1, 128>>>(in.device, out.device);
  CHECK_KERNEL();
  CHECK(out.read()[128] == 8128 && out.host[129] == 127 && out.host[127] == 127 * 63);
  return 0;
}
