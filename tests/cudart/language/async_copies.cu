// SPDX-License-Identifier: Apache-2.0
// Copies to shared memory that a program waits for: of a thread, of a group, for a barrier, and in a pipeline of stages whose
// producers and consumers are other threads.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

#include "check.h"

namespace cg = cooperative_groups;
constexpr int threads = 64, rounds = 6, numbers = threads * rounds;

__global__ void of_thread(const int* from, int* to) {
  __shared__ int values[2][threads];
  const int me = int(threadIdx.x);
  auto pipeline = cuda::make_pipeline();
  __pipeline_memcpy_async(&values[0][me], from + me, sizeof(int));
  __pipeline_commit();
  for (int i = 0; i < rounds; ++i) {
    if (i + 1 < rounds) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&values[(i + 1) % 2][me], from + (i + 1) * threads + me, sizeof(int), pipeline);
      pipeline.producer_commit();
    }
    __pipeline_wait_prior(1);
    cuda::pipeline_consumer_wait_prior<1>(pipeline);
    __syncthreads();
    to[i * threads + me] = values[i % 2][threads - 1 - me];
    __syncthreads();
    if (i > 0) pipeline.consumer_release();
  }
}
__global__ void of_group(const int* from, int* to) {
  extern __shared__ int values[];
  __shared__ cuda::barrier<cuda::thread_scope_block> written;
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&written, threads);
  block.sync();
  for (int i = 0; i < rounds; ++i) {
    if (i % 2 == 0) {
      cg::memcpy_async(block, values, from + i * threads, sizeof(int) * threads);
      cg::wait(block);
    } else {
      cuda::memcpy_async(block, values, from + i * threads, cuda::aligned_size_t<16>(sizeof(int) * threads), written);
      written.arrive_and_wait();
    }
    to[i * threads + threadIdx.x] = values[threads - 1 - threadIdx.x];
    block.sync();
  }
}
// The first half of the block copies, the second half reads.
template <int stages>
__global__ void of_roles(const int* from, int* to) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ int values[stages][threads];
  const bool copies = threadIdx.x < threads;
  auto pipeline = cuda::make_pipeline(cg::this_thread_block(), &state,
                                      copies ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int me = int(threadIdx.x % threads);
  for (int i = 0; i < rounds; ++i) {
    if (copies) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&values[i % stages][me], from + i * threads + me, sizeof(int), pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      to[i * threads + me] = values[i % stages][threads - 1 - me];
      pipeline.consumer_release();
    }
  }
}

int main() {
  Numbers<int, numbers> from, to;
  for (int way = 0; way < 3; ++way) {
    CHECK_CALL(cudaMemset(to.device, 0, sizeof(to.host)));
    if (way == 0) of_thread<<<1, threads>>>(from.device, to.device);
    if (way == 1) of_group<<<1, threads, threads * sizeof(int)>>>(from.device, to.device);
    if (way == 2) of_roles<2><<<1, 2 * threads>>>(from.device, to.device);
    CHECK_KERNEL();
    to.read();
    for (int i = 0; i < numbers; ++i) CHECK(to.host[i] == i / threads * threads + threads - 1 - i % threads);
  }
  return 0;
}
