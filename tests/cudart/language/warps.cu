// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes and matches of the lanes of a warp, of 32 and 64 bits; warpSize; part of a warp's lanes.
#include "check.h"

__inline__ __device__ double sum_of_warp(double value) {
  for (int offset = warpSize / 2; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}
__global__ void sums(double* out) {
  const double sum = sum_of_warp(threadIdx.x * 0.5);
  if ((threadIdx.x & (warpSize - 1)) == 0) out[threadIdx.x / warpSize] = sum;
}
__global__ void votes(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
  const int any = __any_sync(~0u, lane == 7), every = __all_sync(~0u, lane < 32);
  const unsigned same = __match_any_sync(~0u, lane / 8);
  const int from = __shfl_sync(~0u, int(lane) * 3, 5), flipped = __shfl_xor_sync(~0u, int(lane), 31);
  unsigned half = 0;
  if (lane < 16) half = __ballot_sync(0xffffu, 1) + __popc(__activemask());
  __syncwarp();
  if (lane == 9) {
    out[0] = odd, out[1] = unsigned(any * 2 + every), out[2] = same, out[3] = unsigned(from), out[4] = unsigned(flipped);
    out[5] = half;
  }
}

int main() {
  Numbers<double, 2> sums_;
  sums<<<1, 64>>>(sums_.device);
  CHECK(sums_.read()[0] == 248 && sums_.host[1] == 248 + 512);
  Numbers<unsigned, 6> out;
  votes<<<1, 32>>>(out.device);
  const unsigned expected[] = {0xaaaaaaaau, 3, 0xff00u, 15, 22, 0xffffu + 16};
  for (int i = 0; i < 6; ++i) CHECK(out.read()[i] == expected[i]);
  CHECK_KERNEL();
  return 0;
}
