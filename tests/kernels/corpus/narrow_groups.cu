#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#define FULL_MASK 0xffffffff
// by hand, with masks
__device__ int atomicAggIncMask(int* ptr) {
  int mask = __match_any_sync(__activemask(), (unsigned long long)ptr);
  int leader = __ffs(mask) - 1;
  int lane_id = threadIdx.x % warpSize;
  int res;
  if (lane_id == leader) res = atomicAdd(ptr, __popc(mask));
  res = __shfl_sync(mask, res, leader);
  return res + __popc(mask & ((1 << lane_id) - 1));
}
extern "C" __global__ void bucket(const int* keys, int* counters, int* places, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  places[i] = atomicAggIncMask(&counters[keys[i] % 7]);
}
// each half of a warp by itself
extern "C" __global__ void halves(const int* in, int* evens, int* odds, int n) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : 0;
  auto sub = cg::binary_partition(tile, (v & 1) != 0);
  int total = cg::reduce(sub, v, cg::plus<int>());
  if (sub.thread_rank() == 0) atomicAdd((v & 1) ? odds : evens, total);
}
extern "C" __global__ void labels(const int* label, const float* value, float* sums, int n) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto active = cg::coalesced_threads();
  auto same = cg::labeled_partition(active, label[i]);
  float total = cg::reduce(same, value[i], cg::plus<float>());
  if (same.thread_rank() == 0) atomicAdd(&sums[label[i]], total);
}
// which part of its parent a group is, and a barrier in two steps
extern "C" __global__ void parts(const int* label, int* out) {
  __shared__ int next[64];
  auto block = cg::this_thread_block();
  const int i = threadIdx.x;
  auto all = cg::coalesced_threads();
  auto same = cg::labeled_partition(all, label[i]);
  auto half = cg::binary_partition(all, label[i] > 0);
  auto four = cg::tiled_partition(all, 4);
  out[i] = same.meta_group_rank() + 100 * same.meta_group_size();
  out[64 + i] = half.meta_group_rank() + 100 * half.meta_group_size();
  out[128 + i] = four.meta_group_rank() + 100 * four.meta_group_size() + 10000 * all.meta_group_size();
  next[(i + 1) % 64] = label[i];
  auto token = block.barrier_arrive();
  block.barrier_wait(static_cast<decltype(token)&&>(token));
  out[192 + i] = next[i];
}
