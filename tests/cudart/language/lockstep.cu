// SPDX-License-Identifier: Apache-2.0
// Kernels in which the lanes of a warp rely on their lockstep, without __syncwarp: by volatile shared memory, and by plain
// one.
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

// A sum over the lanes before each lane, and a transpose, whose rows the lanes write and whose columns they read.
__global__ void exchange(const int* in, int* sums, int* transposed) {
  __shared__ int tile[2][33], square[8][8];
  const unsigned i = threadIdx.x;
  int sum = in[i];
  tile[0][i] = sum;
  for (unsigned step = 1, from = 0; step < 32; step *= 2, from ^= 1) {
    if (i >= step) sum += tile[from][i - step];
    tile[from ^ 1][i] = sum;
  }
  sums[i] = sum;
  for (unsigned k = 0; k < 2; ++k) square[i / 8 + 4 * k][i % 8] = in[i + 32 * k];
  for (unsigned k = 0; k < 2; ++k) transposed[i + 32 * k] = square[i % 8][i / 8 + 4 * k];
}
struct Three {
  int x, y, z;
};
// Each lane reads its numbers before another lane writes there.
__global__ void reverse_structures(const int* in, int* reversed) {
  __shared__ Three line[32];
  const unsigned i = threadIdx.x;
  line[i] = {in[i], -in[i], 1};
  __syncthreads();
  line[in[31 - i]] = line[i];
  __syncthreads();
  reversed[i] = line[i].x + line[i].y + line[i].z + line[i].x;
}
__global__ void reverse(const int* in, int* reversed) {
  __shared__ int line[32];
  const unsigned i = threadIdx.x;
  line[i] = in[i];
  __syncthreads();
  line[in[31 - i]] = line[i];
  __syncthreads();
  reversed[i] = line[i];
}

// Lanes add to each other's counters.
__global__ void count_others(int* out) {
  __shared__ int counts[32];
  const unsigned i = threadIdx.x;
  counts[i] = 0;
  __syncthreads();
  atomicAdd(&counts[i ^ 1], 100);
  out[i] = counts[i];
}
// A kernel with a lock, whose threads do not run as vectors.
__device__ int lock = 0;
__global__ void reverse_and_lock(const int* in, int* reversed, int* count) {
  __shared__ int line[32];
  const unsigned i = threadIdx.x;
  line[i] = in[i];
  reversed[i] = line[31 - i];
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      *count = *static_cast<volatile int*>(count) + 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}
// The lock is a bit of lane 1's number. All lanes write theirs before lane 0 lets it go.
__global__ void count_under_lock(unsigned* line) {
  constexpr unsigned locked = 1u << 31;
  const unsigned lane = threadIdx.x % 32;
  for (bool taken = true; taken;) {
    if (lane == 0) taken = (atomicOr(&line[1], locked) & locked) != 0;
    taken = __shfl_sync(~0u, taken, 0);
  }
  const unsigned number = line[lane], last = __shfl_sync(~0u, number, 31);
  line[lane] = (number & locked) | (last + 1);
  __threadfence();
  if (lane == 0) atomicAnd(&line[1], ~locked);
}

int main() {
  Numbers<int, 256> in;
  Numbers<int, 1> out;
  reduce<256><<<1, 256, 256 * sizeof(int)>>>(in.device, out.device);
  CHECK_KERNEL();
  CHECK(out.read()[0] == 255 * 128);

  Numbers<int, 32> sums, reversed;
  Numbers<int, 64> transposed;
  exchange<<<1, 32>>>(in.device, sums.device, transposed.device);
  reverse<<<1, 32>>>(in.device, reversed.device);
  CHECK_KERNEL();
  for (int i = 0; i < 32; ++i) CHECK(sums.read()[i] == i * (i + 1) / 2);
  for (int i = 0; i < 32; ++i) CHECK(reversed.read()[i] == 31 - i);
  reverse_structures<<<1, 32>>>(in.device, reversed.device);
  CHECK_KERNEL();
  for (int i = 0; i < 32; ++i) CHECK(reversed.read()[i] == 32 - i);
  for (int i = 0; i < 64; ++i) CHECK(transposed.read()[i] == i % 8 * 8 + i / 8);

  count_others<<<1, 32>>>(reversed.device);
  CHECK_KERNEL();
  for (int i = 0; i < 32; ++i) CHECK(reversed.read()[i] == 100);
  Numbers<int, 1> count;
  reverse_and_lock<<<1, 32>>>(in.device, reversed.device, count.device);
  CHECK_KERNEL();
  CHECK(count.read()[0] == 32);
  for (int i = 0; i < 32; ++i) CHECK(reversed.read()[i] == 31 - i);
  Numbers<unsigned, 32> line;
  cudaMemset(line.device, 0, sizeof line.host);
  count_under_lock<<<1, 256>>>(line.device);
  CHECK_KERNEL();
  for (int i = 0; i < 32; ++i) CHECK(line.read()[i] == 8);
  return 0;
}
