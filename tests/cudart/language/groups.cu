// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: blocks, tiles, coalesced groups, reduce, and a grid that waits.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

template <class G>
__device__ int sum_of(const G& group, int value) {
  for (int i = group.size() / 2; i > 0; i /= 2) value += group.shfl_down(value, i);
  return value;
}
__global__ void sums(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<4>(warp);
  const int mine = int(block.thread_rank());
  const int a = sum_of(warp, mine), b = cg::reduce(tile, mine, cg::plus<int>());
  block.sync();
  if (warp.thread_rank() == 0) out[warp.meta_group_rank()] = a;
  if (mine == 5) out[4] = b;
  if (mine % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    if (mine == 0) out[5] = int(active.size());
  }
  cg::invoke_one(tile, [&] {
    if (mine == 8) out[6] = 8;
  });
}
__global__ void steps(int* data, int n) {
  const cg::grid_group grid = cg::this_grid();
  if (!grid.is_valid()) return;
  const int i = int(grid.thread_rank());
  for (int step = 0; step < 4; ++step) {
    const int next = data[(i + 1) % n];
    grid.sync();
    data[i] = next;
    grid.sync();
  }
}

int main() {
  Numbers<int, 8> out;
  sums<<<1, 128>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[0] == 496 && out.host[3] == 496 + 32 * 96 && out.host[4] == 4 + 5 + 6 + 7 && out.host[5] == 11);
  CHECK(out.host[6] == 8);
  Numbers<int, 64> ring;
  int n = 64;
  void* arguments[] = {&ring.device, &n};
  CHECK_CALL(cudaLaunchCooperativeKernel((void*)steps, dim3(16), dim3(4), arguments));
  CHECK_KERNEL();
  for (int i = 0; i < 64; ++i) CHECK(ring.read()[i] == (i + 4) % 64);
  return 0;
}
