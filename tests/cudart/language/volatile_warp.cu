// SPDX-License-Identifier: Apache-2.0
// A reduction in which the lanes of a warp rely on their lockstep, by volatile shared memory and without __syncwarp.
#include "check.h"

template <unsigned size>
__device__ void finish(volatile int* data, unsigned i) {
  if (size >= 64) data[i] += data[i + 32];
  if (size >= 32) data[i] += data[i + 16];
  if (size >= 16) data[i] += data[i + 8];
  if (size >= 8) data[i] += data[i + 4];
  if (size >= 4) data[i] += data[i + 2];
  if (size >= 2) data[i] += data[i + 1];
}
template <unsigned size>
__global__ void reduce(const int* in, int* out) {
  extern __shared__ int tile[];
  const unsigned i = threadIdx.x;
  tile[i] = in[i];
  __syncthreads();
  for (unsigned s = size / 2; s > 32; s >>= 1) {
    if (i < s) tile[i] += tile[i + s];
    __syncthreads();
  }
  if (i < 32) finish<size>(tile, i);
  if (i == 0) *out = tile[0];
}

int main() {
  Numbers<int, 256> in;
  Numbers<int, 1> out;
  reduce<256><<<1, 256, 256 * sizeof(int)>>>(in.device, out.device);
  CHECK_KERNEL();
  CHECK(out.read()[0] == 255 * 128);
  return 0;
}
