// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: the part that CUDA and HIP have in common.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

// As in the CUDA samples: a sum by a group of any size, in shared memory.
__device__ int reduce_sum(cg::thread_group g, int* temp, int val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}

extern "C" __global__ void sums_of_groups(const int* in, int* blocks, int* tiles) {
  namespace groups = cooperative_groups;
  extern __shared__ int temp[];
  groups::thread_block block = groups::this_thread_block();
  int my = in[block.group_index().x * block.size() + block.thread_rank()];
  int sum = reduce_sum(block, temp, my);
  if (block.thread_rank() == 0) blocks[blockIdx.x] = sum;
  block.sync();
  cg::thread_group tile = cg::tiled_partition(block, 16);
  int first = block.thread_rank() - tile.thread_rank();
  int of_tile = reduce_sum(tile, temp + first, my);
  if (tile.thread_rank() == 0) tiles[(blockIdx.x * blockDim.x + threadIdx.x) / 16] = of_tile;
}

// A function for a group of any type, by shuffles.
template <typename Group>
__device__ float tile_sum(Group g, float v) {
  for (int offset = g.size() / 2; offset > 0; offset /= 2) v += g.shfl_down(v, offset);
  return v;
}
template <int n>
__device__ float tile_max(const cg::thread_block_tile<n>& tile, float v) {
  for (int k = n / 2; k > 0; k /= 2) v = fmaxf(v, tile.shfl_xor(v, k));
  return v;
}
extern "C" __global__ void sums_of_tiles(const float* in, float* out, float* greatest) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  auto small = cg::tiled_partition<8>(tile);
  const int i = blockIdx.x * blockDim.x + block.thread_rank();
  const float all = tile_sum(tile, in[i]);
  const float some = tile_sum(small, in[i]);
  if (small.thread_rank() == 0) out[i / 8] = some;
  const float most = tile_max<32>(tile, in[i]);
  if (tile.thread_rank() == 0) {
    out[gridDim.x * blockDim.x / 8 + i / 32] = all;
    greatest[i / 32] = most;
  }
}

extern "C" __global__ void words_of_tiles(const int* in, int* out) {
  cg::thread_block cta = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cta);
  const int n = cta.num_threads(), i = cta.thread_rank();
  const int v = in[i];
  out[i] = tile.shfl(v, 3);
  out[n + i] = tile.shfl_up(v, 2);
  out[2 * n + i] = tile.shfl_down(v, 5);
  out[3 * n + i] = tile.shfl_xor(v, 6);
  out[4 * n + i] = tile.any(v > 90) + (__ffsll(tile.ballot(v > 90)) > 0);
  out[5 * n + i] = tile.all(v > 5);
  out[6 * n + i] = (int)tile.ballot(v % 2);
  out[7 * n + i] = tile.meta_group_rank() + 1000 * tile.meta_group_size();
  out[8 * n + i] = cg::reduce(tile, v, cg::plus<int>());
  out[9 * n + i] = cg::reduce(tile, v, cg::greater<int>());
  cg::sync(cta);
  out[10 * n + i] = cta.thread_index().x + cta.thread_index().y * 100;
}

// One atomic for all threads that come this way at once.
__device__ int aggregated_increment(int* counter) {
  cg::coalesced_group active = cg::coalesced_threads();
  int base = 0;
  if (active.thread_rank() == 0) base = atomicAdd(counter, (int)active.size());
  return active.shfl(base, 0) + active.thread_rank();
}
extern "C" __global__ void filter_in_groups(const int* in, int* out, int* counter, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (in[i] > 0) out[aggregated_increment(counter)] = in[i];
  }
}

// A cooperative launch: all blocks wait for each other. Steps of a smoothing in one launch.
extern "C" __global__ void smoothed(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int s = 0; s < steps; ++s) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) {
      const float left = a[i > 0 ? i - 1 : 0], right = a[i < n - 1 ? i + 1 : n - 1];
      b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
    }
    grid.sync();
    float* c = a;
    a = b;
    b = c;
  }
}

// Scans of a tile and of the threads that came together.
extern "C" __global__ void scans_of_groups(const int* in, int* out, double* products) {
  const int n = blockDim.x, i = threadIdx.x;
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  out[i] = cg::inclusive_scan(tile, in[i]);
  out[n + i] = cg::exclusive_scan(tile, in[i], cg::plus<int>());
  out[2 * n + i] = cg::inclusive_scan(tile, in[i], cg::greater<int>());
  products[i] = cg::inclusive_scan(tile, 1.0 + in[i] / 128.0, [](double a, double b) { return a * b; });
  out[3 * n + i] = out[4 * n + i] = -1;
  if (in[i] % 3 == 0) {
    cg::coalesced_group those = cg::coalesced_threads();
    out[3 * n + i] = cg::exclusive_scan(those, in[i]);
    out[4 * n + i] = cg::inclusive_scan(those, in[i], cg::less<int>());
  }
}

// Tiles of the threads that came together.
extern "C" __global__ void parts_of_groups(const int* in, int* out) {
  const int i = threadIdx.x;
  if (in[i] % 3 == 0) {
    auto part = cg::tiled_partition(cg::coalesced_threads(), 4);
    out[i] = 10 * part.size() + part.thread_rank();
  }
}

// As in CUDA's guide, for two counters: lanes of one call have nothing to do with those of the other.
__device__ int add_together(int* counter) {
  const cg::coalesced_group those = cg::coalesced_threads();
  int before = 0;
  if (those.thread_rank() == 0) before = atomicAdd(counter, (int)those.size());
  return those.shfl(before, 0) + those.thread_rank();
}
extern "C" __global__ void counted_apart(const int* in, int* counters, int* numbers) {
  const int v = in[threadIdx.x];
  if (v % 3 == 0) {
    numbers[add_together(counters)] = v;
  } else if (v % 3 == 1) {
    numbers[blockDim.x + add_together(counters + 1)] = v;
  }
}
