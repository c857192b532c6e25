// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace weir::test {

/// Functions that random programs call. Each one is C++ code that a purely textual analysis would misunderstand.
inline std::string program_library(unsigned odd, unsigned small) {
  return fmt::format("#define ODD {}U\n#define SMALL {}U\n", odd, small) + R"(
#define THREADS (blockDim.x * blockDim.y * blockDim.z)
#define LANE (rank() % 32U)
#define MEET() do { __syncthreads(); } while (0)
#define IF(c) if (c)
#define WEIGHTS (ODD + 2U)
__device__ inline unsigned rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
// The lanes of this thread's warp that there are.
__device__ inline unsigned lanes_here() {
  const unsigned count = THREADS - rank() / 32U * 32U;
  return count >= 32U ? ~0U : (1U << count) - 1U;
}
enum { column = SMALL };
namespace a {
enum class Axis { row, column };
using Number = unsigned;
using Ref = unsigned&;
__device__ inline unsigned column_of(unsigned v) { return v * 3U + threadIdx.x; }
__device__ inline unsigned larger(unsigned x, unsigned y) { return x > y ? x : y; }
__device__ inline void put(Ref to, unsigned v) { to = v ^ ODD; }
__device__ inline void meet() { __syncthreads(); }
}  // namespace a
namespace b {
__device__ inline unsigned column() { return threadIdx.x * 2U + 1U; }
}
struct Pair {
  unsigned first, second;
};
struct Config {
  unsigned first;
  unsigned long long second;
  unsigned short parts[3];
};
struct lane_t {
  unsigned v;
  __device__ lane_t(unsigned o) : v(threadIdx.x + o) {}
  __device__ operator unsigned() const { return v; }
};
struct Origin {
  __device__ unsigned operator+(unsigned o) const { return threadIdx.x * ODD + o; }
};
#define origin Origin{}
struct Block {
  __device__ static unsigned thread_rank() { return threadIdx.x ^ 21U; }
};
struct Ticks {
  static constexpr unsigned now = ODD + 5U;
};
struct Wide {
  unsigned long long v;
  __device__ Wide(unsigned o) : v(o * 4294967297ULL) {}
  __device__ Wide operator+(const Wide& o) const {
    Wide r(0U);
    r.v = v + o.v;
    return r;
  }
  __device__ explicit operator unsigned() const { return unsigned(v >> 31); }
};
template <class T>
struct Id {
  using type = T;
};
template <class T>
struct Holder {
  T held;
};
template <class T>
__device__ void set(T to, unsigned v) { to = v; }
__device__ inline void store(unsigned& to, unsigned v) { to = v + SMALL; }
__device__ inline unsigned* address_of(unsigned& x) { return &x; }
__device__ inline void exchange_values(unsigned& x, Pair p) { x = p.first * x + p.second; }
__device__ inline unsigned lane(unsigned l = threadIdx.x & 31U) { return l; }
template <class T, unsigned N = 7>
__device__ T mix(T x, T y) { return (x ^ (y >> N)) * (N | 1U); }
__device__ inline unsigned sum() { return 0U; }
template <class First, class... Rest>
__device__ unsigned sum(First first, Rest... rest) { return first + 3U * sum(rest...); }
__device__ inline unsigned twice(unsigned v) { return 2U * v + 1U; }
__device__ inline unsigned add(unsigned x, unsigned y) { return x + y; }
template <unsigned (*F)(unsigned)>
__device__ unsigned apply(unsigned v) { return F(v) ^ 1U; }
template <class F>
__device__ unsigned call(F&& f, unsigned v) { return f(v) + 1U; }
__device__ inline unsigned kind(int v) { return unsigned(v) + 1U; }
__device__ inline unsigned kind(unsigned v) { return v + 2U; }
__device__ inline unsigned kind(unsigned long long v) { return unsigned(v) + 3U; }
template <unsigned N>
__device__ unsigned power(unsigned v) {
  if constexpr (N == 0) return 1U;
  else return v * power<N - 1>(v);
}
__constant__ const unsigned TABLE[8] = {3U, 1U, 4U, 1U, ODD, 9U, SMALL, 6U};
// The lane of the n-th lane in a mask, counted again from its first.
__device__ inline unsigned nth(unsigned mask, unsigned n) {
  for (n %= __popc(mask); n > 0U; --n) mask &= mask - 1U;
  return __ffs(mask) - 1U;
}
__device__ inline unsigned warp_sum(unsigned mask, unsigned v) {
  if (mask == ~0U) {
    for (unsigned d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(mask, v, d);
    return v;
  }
  unsigned total = 0;
  for (unsigned left = mask; left != 0; left &= left - 1U) total += __shfl_sync(mask, v, __ffs(left) - 1);
  return total;
}
__device__ inline unsigned neighbour(unsigned* s, unsigned v, unsigned k) {
  __syncthreads();
  s[rank()] = v;
  __syncthreads();
  const unsigned r = s[(rank() + k) % THREADS];
  __syncthreads();
  return r;
}
struct Add {
  __device__ unsigned operator()(unsigned x, unsigned y) const { return x + y; }
};
struct Xor {
  __device__ unsigned operator()(unsigned x, unsigned y) const { return x ^ y; }
};
template <class Op>
__device__ unsigned block_sum(unsigned* s, unsigned v, Op op = Op()) {
  __syncthreads();
  s[rank()] = v;
  for (unsigned d = 128; d > 0; d >>= 1) {
    __syncthreads();
    if (rank() < d && rank() + d < THREADS) s[rank()] = op(s[rank()], s[rank() + d]);
  }
  __syncthreads();
  const unsigned r = s[0];
  __syncthreads();
  return r;
}
template <unsigned (*F)(unsigned, unsigned)>
__device__ unsigned reduce_by(unsigned* s, unsigned v) {
  v = warp_sum(lanes_here(), v);
  __syncthreads();
  if (LANE == 0U) s[rank() / 32U] = v;
  __syncthreads();
  unsigned r = s[0];
  for (unsigned w = 1; w < (THREADS + 31U) / 32U; ++w) r = F(r, s[w]);
  __syncthreads();
  return r;
}
__device__ inline unsigned prefix(unsigned* s, unsigned v) {
  __syncthreads();
  s[rank()] = v;
  __syncthreads();
  for (unsigned d = 1; d < THREADS; d *= 2) {
    const unsigned o = rank() >= d ? s[rank() - d] : 0U;
    __syncthreads();
    s[rank()] += o;
    __syncthreads();
  }
  const unsigned r = s[rank()];
  __syncthreads();
  return r;
}
struct Tile {
  unsigned* s;
  __device__ unsigned turn(unsigned v, unsigned k) const { return neighbour(s, v, k) * ODD; }
  __device__ unsigned operator()(unsigned v, unsigned k) const { return turn(v + k, k + 1U); }
};
struct Meeting {
  unsigned result;
  __device__ Meeting(unsigned* s, unsigned v) : result(neighbour(s, v, 3U) + v) {}
};
)";
}

/// Recursion, and calls through pointers and tables, of functions that read the thread.
inline constexpr std::string_view program_indirect_calls = R"(
__device__ inline unsigned down(unsigned n, unsigned v) { return n == 0U ? v : down(n - 1U, v * 3U + threadIdx.x); }
struct Shape {
  __device__ virtual unsigned area(unsigned v) const = 0;
};
struct Square : Shape {
  __device__ unsigned area(unsigned v) const override { return v * v; }
};
struct Strip : Shape {
  __device__ unsigned area(unsigned v) const override { return v * (threadIdx.x + 1U); }
};
__device__ inline unsigned shape_of(unsigned which, unsigned v) {
  const Square square;
  const Strip strip;
  const Shape* const shapes[2] = {&square, &strip};
  unsigned (*const calls[2])(unsigned) = {twice, a::column_of};
  return shapes[which & 1U]->area(v) + calls[which >> 1](v);
}
)";

}  // namespace weir::test
