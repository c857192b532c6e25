// SPDX-License-Identifier: Apache-2.0
// cuda::barrier: arriving and waiting apart, phases, and threads that leave.
#include <cuda/barrier>
#include <utility>

#include "check.h"

using Barrier = cuda::barrier<cuda::thread_scope_block>;

// In each round, every thread adds what its neighbour wrote before it arrived.
__global__ void rounds(int* sums, int count) {
  __shared__ Barrier written, read;
  __shared__ int values[96];
  if (threadIdx.x == 0) {
    init(&written, blockDim.x);
    init(&read, blockDim.x);
  }
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < count; ++round) {
    values[threadIdx.x] = round * 1000 + threadIdx.x;
    auto token = written.arrive();
    sum -= round;
    written.wait(std::move(token));
    sum += values[(threadIdx.x + 33) % blockDim.x];
    read.arrive_and_wait();
  }
  sums[threadIdx.x] = sum;
}

// One thread counts for the others; then all but a warp leave.
__global__ void leave(int* seen) {
  __shared__ Barrier barrier;
  __shared__ int value;
  if (threadIdx.x == 0) init(&barrier, 2 * blockDim.x);
  __syncthreads();
  if (threadIdx.x == 40) {
    value = 7;
    (void)barrier.arrive(blockDim.x);
  }
  barrier.arrive_and_wait();
  seen[threadIdx.x] = value;
  if (threadIdx.x == 0) (void)barrier.arrive(blockDim.x);
  if (threadIdx.x >= 32) {
    barrier.arrive_and_drop();
    return;
  }
  barrier.arrive_and_wait();
  seen[threadIdx.x] += 1;
}

int main() {
  Numbers<int, 96> n;
  rounds<<<1, 96>>>(n.device, 5);
  CHECK_KERNEL();
  n.read();
  for (int i = 0; i < 96; ++i) CHECK(n.host[i] == 10000 - 10 + 5 * ((i + 33) % 96));
  leave<<<1, 96>>>(n.device);
  CHECK_KERNEL();
  n.read();
  for (int i = 0; i < 96; ++i) CHECK(n.host[i] == (i < 32 ? 8 : 7));
  return 0;
}
