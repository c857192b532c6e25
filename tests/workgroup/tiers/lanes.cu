// SPDX-License-Identifier: Apache-2.0
// Communication between the lanes of a warp.
//! absent 2 1 1 40 1 1 0 workgroup
//! activediv 1 1 1 64 1 1 0 workgroup
//! coal 1 1 1 64 1 1 0 workgroup
//! block3dw 2 1 1 5 3 4 0 workgroup
//! odd 3 1 1 33 1 1 0 workgroup
//! odd1 3 1 1 1 1 1 0 workgroup
//! odd31 3 1 1 31 1 1 0 workgroup
//! matchm 2 1 1 64 1 1 0 workgroup
//! reduceops 2 1 1 64 1 1 0 workgroup
//! tile 2 1 1 64 1 1 0 workgroup
//! tiledyn 2 1 1 64 1 1 0 workgroup
//! labeled 1 1 1 64 1 1 0 workgroup
//! shfl64 2 1 1 64 1 1 0 workgroup
//! wraps 3 1 1 64 1 1 0 workgroup
//! cgreduce 2 1 1 72 1 1 0 workgroup
//! shflstruct 2 1 1 64 1 1 0 workgroup
//! shflpred 2 1 1 64 1 1 0 workgroup
//! d3 2 2 2 4 4 4 0 workgroup
//! d3b 2 1 1 16 4 1 0 workgroup
//! dotwarp 2 1 1 96 1 1 0 workgroup
//! absentfirst 4 1 1 64 1 1 0 workgroup
//! warp_sums 32 1 1 128 1 1 0 workgroup 4001
//! warp_sums 4 1 1 1024 1 1 0 workgroup 4096
//! calls 2 1 1 64 1 1 0 workgroup
//! structures 2 1 1 64 1 1 0 workgroup
//! structures 2 1 1 80 1 1 0 workgroup
//! named 3 1 1 96 1 1 0 workgroup
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;
// The compiler passes these structures as numbers.
inline __device__ float4 down(const float4 v, int by) {
  float4 other;
  other.x = __shfl_down_sync(__activemask(), v.x, by);
  other.y = __shfl_down_sync(__activemask(), v.y, by);
  other.z = __shfl_down_sync(__activemask(), v.z, by);
  other.w = __shfl_down_sync(__activemask(), v.w, by);
  return other;
}
inline __device__ float4 sum(float4 a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
struct Bytes {
  unsigned char c[8];
};
inline __device__ Bytes mixed(Bytes a, long long by) {
  for (int k = 0; k < 8; ++k) a.c[k] = (unsigned char)(a.c[k] + (by >> 8 * k));
  return a;
}
KERNEL(structures) {
  INDEX;
  float4 v = make_float4(0, 0, 0, 0);
  Bytes b = {};
  for (int k = 0; k < t % 5 + 1; ++k) {
    v = sum(v, make_float4((float)(in[i + k] & 15), (float)(in[i + k] & 7), (float)k, 1));
    b = mixed(b, in[i + k] * 0x100010001ll);
  }
  for (int by = 16; by > 0; by /= 2) v = sum(v, down(v, by));
  out[4 * i] = (int)v.x;
  out[4 * i + 1] = (int)v.y;
  out[4 * i + 2] = (int)v.z * 100 + (int)v.w;
  out[4 * i + 3] = __shfl_xor_sync(__activemask(), b.c[t % 8], 3) + b.c[1] * 256;
}
KERNEL(absent) {
  INDEX;
  int v = in[i];
  int r = __shfl_down_sync(~0u, v, 16);
  r += __shfl_up_sync(~0u, v, 3) * 2;
  if (t & 1) r += __shfl_xor_sync(0xaaaaaaaau & (t < 32 ? ~0u : 0xffu), v, 2);
  r += __shfl(v, 37) + __shfl(v, -1) + __shfl(v, t + 5, 8);
  out[i] = r;
}
KERNEL(activediv) {
  INDEX;
  unsigned a = __activemask(), b = 0, c = 0, d = 0;
  if (t & 1) {
    b = __activemask();
    if (t & 2)
      c = __activemask();
    else
      d = __activemask();
    b ^= __activemask() << 1;
  }
  out[t] = a;
  out[64 + t] = b;
  out[128 + t] = c;
  out[192 + t] = d;
  out[256 + t] = __activemask();
}
KERNEL(coal) {
  INDEX;
  if (in[i] % 3 == 0) {
    auto g = cg::coalesced_threads();
    out[i] = g.size() * 100 + g.thread_rank() + g.shfl(in[i], 0) + g.shfl_down(in[i], 1) + g.ballot(in[i] & 1);
  } else {
    auto g = cg::coalesced_threads();
    out[i] = -(int)g.size() - cg::reduce(g, in[i], cg::plus<int>());
  }
}
KERNEL(block3dw) {
  int id = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int v = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + in[id];
  int r = __shfl_xor_sync(~0u, v, 1) + __shfl_down_sync(~0u, v, 7);
  if (threadIdx.y == 1) r += __popc(__ballot_sync(__activemask(), v & 1));
  out[blockIdx.x * 60 + id] = r + __popc(__activemask());
}
KERNEL(odd) {
  INDEX;
  int v = in[i];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  out[i] = v + __popc(__ballot_sync(~0u, v > 3000));
}
KERNEL(odd1) {
  INDEX;
  out[i] = in[i] + __popc(__activemask()) + __shfl_xor_sync(~0u, in[i], 1);
}
KERNEL(odd31) {
  INDEX;
  int v = in[i];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  out[i] = v + __all_sync(~0u, v > 0) + __any_sync(~0u, in[i] == 5) + (int)__match_any_sync(~0u, in[i] & 3);
}
KERNEL(matchm) {
  INDEX;
  int p;
  unsigned a = __match_any_sync(~0u, in[i] & 3), b = __match_all_sync(~0u, in[i] & 0, &p);
  int q;
  unsigned c = __match_all_sync(~0u, in[i], &q);
  unsigned d = 0;
  if (t & 4) d = __match_any_sync(__activemask(), (long long)in[i] & 1);
  out[i] = a ^ b ^ c ^ (d * 3) ^ p ^ (q << 1);
}
KERNEL(reduceops) {
  INDEX;
  unsigned v = in[i];
  out[i] = __reduce_add_sync(~0u, v) ^ __reduce_min_sync(~0u, (int)v - 2000) ^ __reduce_max_sync(~0u, v) ^
           __reduce_xor_sync(~0u, v) ^ __reduce_or_sync(~0u, v) ^ __reduce_and_sync(~0u, v | 5);
}
KERNEL(tile) {
  INDEX;
  auto b = cg::this_thread_block();
  auto w = cg::tiled_partition<16>(b);
  auto q = cg::tiled_partition<4>(w);
  int v = in[i];
  v += w.shfl_xor(v, 5) + q.shfl(v, 2) + w.shfl_up(v, 3) + q.shfl_down(v, 1);
  v ^= w.ballot(v & 1);
  v += q.any(v & 4) + w.all(v > 0) + w.meta_group_rank() + q.thread_rank();
  if (t & 16) {
    v += cg::reduce(w, v, cg::plus<int>());
    v -= cg::exclusive_scan(w, v & 7);
  }
  b.sync();
  out[i] = v + cg::inclusive_scan(q, v & 3);
}
KERNEL(tiledyn) {
  INDEX;
  cg::thread_group g = cg::tiled_partition(cg::this_thread_block(), 8);
  int v = in[i];
  for (int k = g.size() / 2; k > 0; k /= 2) {
    v += g.shfl(v, g.thread_rank() ^ k);
    g.sync();
  }
  out[i] = v;
}
KERNEL(labeled) {
  INDEX;
  auto c = cg::coalesced_threads();
  auto g = cg::labeled_partition(c, in[i] & 3);
  auto h = cg::binary_partition(c, in[i] & 8);
  out[i] =
      g.size() * 1000 + g.thread_rank() * 10 + h.size() + g.shfl(in[i], 0) + (t & 1 ? cg::coalesced_threads().size() : 0);
}
KERNEL(shfl64) {
  INDEX;
  double d = in[i] * 1.25;
  long long l = in[i] * 100000000007ll;
  for (int k = 16; k; k >>= 1) {
    d += __shfl_xor_sync(~0u, d, k);
    l ^= __shfl_down_sync(~0u, l, k, 16);
  }
  out[i] = (int)d ^ (int)(l >> 13);
}
struct S {
  int a;
  double b;
  char c;
  short e;
};
KERNEL(shflstruct) {
  INDEX;
  S s{in[i], in[i] * 0.5, (char)in[i], (short)t};
  auto g = cg::tiled_partition<32>(cg::this_thread_block());
  S o = g.shfl_xor(s, 3);
  if (t & 1) o = g.num_threads() ? o : s;
  out[i] = o.a + (int)o.b + o.c * 3 + o.e;
}
KERNEL(shflpred) {
  INDEX;
  int r = 0;
  if (t % 32 < 20) {
    r = __shfl_sync(0xfffffu, in[i], (t * 7) % 20);
    r += __shfl_down_sync(0xfffffu, r, 4);
  } else if (t % 32 < 28)
    r = __shfl_xor_sync(0x0ff00000u, in[i], 1);
  out[i] = r;
}
KERNEL(d3) {
  int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x,
      t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  __shared__ int s[4][4][4];
  s[threadIdx.z][threadIdx.y][threadIdx.x] = in[b * 64 + t];
  __syncthreads();
  out[b * 64 + t] = s[threadIdx.x][threadIdx.y][threadIdx.z] + __popc(__activemask()) +
                    (int)__ballot_sync(~0u, threadIdx.z == 1 && threadIdx.y < 2);
}
KERNEL(d3b) {
  int t = threadIdx.y * 16 + threadIdx.x;
  int v = in[t] + threadIdx.y;
  for (int d = 8; d; d /= 2) v += __shfl_xor_sync(~0u, v, d, 16);
  out[blockIdx.x * 64 + t] = v;
  if (threadIdx.x == threadIdx.y) out[300 + threadIdx.y] = __activemask();
}
KERNEL(dotwarp) {
  INDEX;
  float a = 0;
  for (int k = t; k < 777; k += blockDim.x) a += in[k] * 0.001f * in[k + blockIdx.x];
  for (int d = 16; d; d >>= 1) a += __shfl_down_sync(~0u, a, d);
  __shared__ float s[3];
  if (t % 32 == 0) s[t / 32] = a;
  __syncthreads();
  if (t == 0) ((float*)out)[blockIdx.x] = s[0] + s[1] + s[2];
}
// What conditions say of the lanes that are here is not true of the first one.
KERNEL(absentfirst) {
  INDEX;
  unsigned back = (unsigned)in[blockIdx.x] & 7u, base = (in[0] & 3) + 2 + blockIdx.x, k = base + t;
  int a = 0, b = 0;
  if (t >= 8) {
    unsigned at = t - back;
    a = in[at];
  }
  if ((k & 2) == 0) {
    unsigned at = k | 2;
    b = in[at];
  }
  out[i] = a * 5 + b + __shfl_xor_sync(~0u, a, 1);
}
// Indices beside each other that wrap within a warp, and others that do not. The lanes before the wrap read and write
// nothing.
KERNEL(wraps) {
  INDEX;
  const int other = __shfl_xor_sync(~0u, in[i], 1);
  const unsigned u = blockIdx.x * 0x7ffffff8u + t;  // block 2 wraps as unsigned, block 1 as signed
  const int s = (int)u;
  const int* first = in - (blockIdx.x == 1 ? -2147483648LL : blockIdx.x == 2 ? -16LL : 0LL);
  if (blockIdx.x == 2) {
    if (t >= 16) out[u] = in[u] + other;
  } else if (blockIdx.x == 1) {
    if (t >= 8) out[2147483648LL + s + 64] = first[s] + other;
  } else {
    out[u + 200] = in[u] + first[s] + other;
  }
}
// Sums of whole tiles, of a cut one, and of the threads that came together.
KERNEL(cgreduce) {
  INDEX;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto eight = cg::tiled_partition<8>(cg::this_thread_block());
  int v = cg::reduce(warp, in[i], cg::plus<int>()) - cg::inclusive_scan(warp, in[i]);
  v = v * 3 + cg::reduce(eight, in[i], cg::greater<int>()) + cg::exclusive_scan(eight, v);
  if (in[i] & 1) v += cg::reduce(cg::coalesced_threads(), v, cg::plus<int>());
  out[i] = v;
}
// Rounded sums, whose bits show their order.
KERNEL(warp_sums) {
  INDEX;
  float v = i < n ? in[i] / 100.0f : 0.0f;
  for (int k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
  if (t % 32 == 0) out[i / 32] = __float_as_int(v);
}
// Lanes call different functions.
__device__ int doubled(int v) { return 2 * v; }
__device__ int negated(int v) { return -v; }
__device__ int squared(int v) { return v * v; }
KERNEL(calls) {
  INDEX;
  int (*const functions[3])(int) = {doubled, negated, squared};
  const int r = functions[in[i] % 3](in[i + 1]);
  out[i] = r + __shfl_xor_sync(~0u, r, 1);
}
// One call at which lanes name different lanes.
KERNEL(named) {
  INDEX;
  out[i] = __ballot_sync(0xffu << (t & 24), in[i] & 1) + __shfl_sync(~0u, in[i], in[i + 1]);
}
