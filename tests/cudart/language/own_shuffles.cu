// SPDX-License-Identifier: Apache-2.0
// A program's own shuffles for types that CUDA's functions do not take, beside those for all types that they take.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "check.h"

struct Pair {
  int first;
  short second;
};
__device__ float4 __shfl_down(float4 value, unsigned delta) {
  return make_float4(__shfl_down(value.x, delta), __shfl_down(value.y, delta), __shfl_down(value.z, delta), -1);
}
__device__ Pair __shfl_xor_sync(unsigned mask, const Pair& value, int lanes) {
  return {__shfl_xor_sync(mask, value.first, lanes), short(7)};
}
__device__ Pair __shfl_sync(unsigned mask, Pair value, unsigned lane, int width = warpSize) {
  return {__shfl_sync(mask, value.first, lane, width), short(8)};
}
template <class T>
__device__ bool exchanges(T mine, T other) {
  const auto flipped = __shfl_xor_sync(~0u, mine, 1), named = __shfl_sync(~0u, mine, (threadIdx.x ^ 1) % 32);
  const auto down = __shfl_down_sync(~0u, mine, 1u), up = __shfl_up_sync(~0u, mine, 1);
  return flipped == other && named == other && (threadIdx.x % 2 == 0 ? down : up) == other;
}
__device__ bool same(__half2 a, __half2 b) { return __hbeq2(a, b); }
__device__ bool same(__nv_bfloat162 a, __nv_bfloat162 b) { return __hbeq2(a, b); }
__global__ void shuffle(int* out) {
  const int lane = int(threadIdx.x), next = lane ^ 1;
  bool right = exchanges(lane, next) && exchanges(unsigned(lane), unsigned(next)) && exchanges(long(lane), long(next)) &&
               exchanges(2ul * lane, 2ul * next) && exchanges((long long)lane << 40, (long long)next << 40) &&
               exchanges(1ull << lane, 1ull << next) && exchanges(lane * 0.5f, next * 0.5f) &&
               exchanges(lane * 0.3, next * 0.3) && exchanges(__float2half(lane), __float2half(next)) &&
               exchanges(__float2bfloat16(lane), __float2bfloat16(next));
  const __half2 halves = __floats2half2_rn(lane, 1), other_halves = __shfl_xor_sync(~0u, halves, 1);
  right = right && same(other_halves, __floats2half2_rn(next, 1));
  const __nv_bfloat162 pair = __floats2bfloat162_rn(lane, 1), other_pair = __shfl_xor_sync(~0u, pair, 1);
  right = right && same(other_pair, __floats2bfloat162_rn(next, 1));
  // Narrow integers are promoted, as in CUDA.
  right = right && exchanges(short(lane), short(next)) && exchanges(lane % 2 == 0, next % 2 == 0);
  static_assert(sizeof(__shfl_sync(~0u, 'a', 0)) == sizeof(int), "char becomes int");
  const float4 down = __shfl_down(make_float4(lane, lane + 1, 2, 3), 0);
  right = right && down.x == lane && down.y == lane + 1 && down.w == -1;
  const Pair flipped = __shfl_xor_sync(~0u, Pair{lane, 1}, 1), first = __shfl_sync(~0u, Pair{lane, 1}, 3);
  right = right && flipped.first == next && flipped.second == 7 && first.first == 3 && first.second == 8;
  out[lane] = right;
}

int main() {
  Numbers<int, 32> out;
  shuffle<<<1, 32>>>(out.device);
  CHECK_KERNEL();
  out.read();
  for (int i = 0; i < 32; ++i) CHECK(out.host[i] == 1);
  return 0;
}
