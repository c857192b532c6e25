// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace weir::test {

/// Functions that random programs call in addition to `program_library`: numbers of all sizes, objects by value, and all C++
/// rules for finding a function. No function reads the thread's index.
inline constexpr std::string_view program_calls_library = R"(
#include <cuda_fp16.h>
// --- Numbers
__device__ inline unsigned long long wide(unsigned x, unsigned y) { return (unsigned long long)x << 32 | y; }
__device__ inline unsigned fold64(unsigned long long v) { return unsigned(v ^ (v >> 32)); }
__device__ inline unsigned divide64(unsigned x, unsigned y) {
  const unsigned long long v = wide(x, y) * 0x9e3779b97f4a7c15ULL;
  return fold64(v / (y | 1ULL) + v % (wide(y, x) | 1ULL));
}
__device__ inline unsigned signed64(unsigned x, unsigned y) {
  const long long v = (long long)int(x) * int(y);
  return unsigned(v >> (y & 31U)) + unsigned(v / (int(x & 255U) - 300)) + (v < 0 ? 1U : 0U);
}
__device__ inline unsigned high(unsigned x, unsigned y) {
  return fold64(__umul64hi(wide(x, y), wide(y, x))) ^ __umulhi(x, y) ^ unsigned(__mulhi(int(x), int(y)));
}
__device__ inline unsigned bits(unsigned x, unsigned y) {
  return unsigned(__clz(int(x)) + __ffs(int(y)) * 3 + __popcll(wide(x, y)) * 5 + __clzll((long long)wide(y, x))) ^
         __brev(x) ^ __byte_perm(x, y, 0x5140U) ^ __funnelshift_l(x, y, x & 31U) ^ __funnelshift_r(y, x, 7U);
}
__device__ inline unsigned narrow(unsigned x, unsigned y) {
  const short s = short(x);
  const signed char c = static_cast<signed char>(y);
  unsigned short wrapped = static_cast<unsigned short>(x);
  wrapped += static_cast<unsigned short>(y * 3U);
  return unsigned(s * c) + unsigned(s >> 3) + (unsigned(wrapped) << (c & 7));
}
__device__ inline unsigned halves(unsigned x, unsigned y) {  // whole numbers below 2048: exact
  const __half a = __float2half(float(x & 31U)), b = __float2half(float(y & 31U));
  __half r = __hfma(a, b, __float2half(7.0f));
  r = r - a;
  if (__hlt(a, b)) r = __hadd(r, b);
  const __half2 two = __hmul2(__halves2half2(a, b), __float2half2_rn(2.0f));
  return unsigned(int(__half2float(r))) + unsigned(__low2float(two)) * 3U + unsigned(__high2float(two));
}
__device__ inline unsigned floats(unsigned x, unsigned y) {  // exact, or rounded once
  const float a = float(x & 4095U), b = float(int(y) >> 20);
  float r = floorf(a * 0.25f) + fabsf(b) * 2.0f;
  r += fminf(a, b) - fmaxf(b, 3.0f);
  if (__uint_as_float(x) < __uint_as_float(y)) r = -r;
  return unsigned(int(r)) + __float_as_uint(__fdiv_rn(a, b + 0.5f)) + __float_as_uint(sqrtf(a)) +
         unsigned(__float2int_rz(__uint_as_float(x)));
}
__device__ inline unsigned doubles(unsigned x, unsigned y) {
  double a = double(x) * 4294967296.0, b = double(int(y));
  a = a / 8.0 - b;
  return fold64((unsigned long long)__double_as_longlong(a)) + unsigned(__double2ll_rn(b * 0.25));
}
// --- Objects by value
union Bits {
  unsigned all;
  unsigned short parts[2];
  unsigned char bytes[4];
};
struct Fields {
  unsigned low : 5, middle : 11;
  int high : 9;
};
struct Big {
  unsigned long long head;
  unsigned short tail[13];
  Pair pair;
};
__device__ inline unsigned through_union(unsigned x, unsigned y) {
  Bits b;
  b.all = x;
  b.bytes[y & 3U] = static_cast<unsigned char>(y >> 3);
  b.parts[1] ^= b.parts[0];
  return b.all;
}
__device__ inline unsigned through_fields(unsigned x, unsigned y) {
  Fields f{x & 31U, y & 2047U, int(x >> 4) % 200};
  f.low += y;
  f.high -= f.middle & 7U;
  return f.low + f.middle * 32U + unsigned(f.high) * 65536U;
}
__device__ __noinline__ Big turned(Big b, unsigned by) {
  Big r = b;
  for (unsigned i = 0; i < 13U; ++i) r.tail[i] = static_cast<unsigned short>(b.tail[(i + by) % 13U] + i);
  r.head = b.head * 3U + r.tail[0];
  const unsigned first = r.pair.first;
  r.pair = {b.pair.second, first};
  return r;
}
__device__ inline unsigned by_value(unsigned x, unsigned y) {
  Big b{wide(x, y), {static_cast<unsigned short>(x), 2, 3, 5}, {x, y}};
  b = turned(turned(b, y % 13U), 5U);
  return fold64(b.head) ^ b.tail[x % 13U] ^ b.pair.first;
}
__device__ inline unsigned from_array(unsigned x, unsigned y, unsigned i) {
  unsigned q[7] = {x, y, x + y, 4U};
  q[i % 7U] += x;
  q[(i + y) % 7U] ^= 99U;
  unsigned total = 0;
  for (const unsigned each : q) total = total * 5U + each;
  return total + q[(x ^ y) % 7U];
}
// --- Functions
struct Counter {
  unsigned v;
  __device__ Counter& operator+=(unsigned o) { v += o; return *this; }
  __device__ Counter operator++(int) { Counter before = *this; ++v; return before; }
  __device__ unsigned operator[](unsigned i) const { return v >> (i & 31U); }
  __device__ friend bool operator<(const Counter& x, const Counter& y) { return x.v % 100U < y.v % 100U; }
  __device__ unsigned plus(unsigned o) const { return v + o; }
  __device__ unsigned minus(unsigned o) const { return v - o; }
};
__device__ inline unsigned operators(unsigned x, unsigned y) {
  Counter a{x}, b{y};
  (a += y) += 3U;
  const Counter before = b++;
  unsigned (Counter::*const method)(unsigned) const = a < b ? &Counter::plus : &Counter::minus;
  unsigned Pair::*const member = y & 1U ? &Pair::first : &Pair::second;
  return (a.*method)(before.v) + a[y] + Pair{x, y}.*member;
}
template <class Self>
struct Curious {
  __device__ unsigned twice(unsigned v) const { return static_cast<const Self*>(this)->once(v) * 2U; }
};
struct Once : Curious<Once> {
  unsigned by;
  __device__ explicit Once(unsigned b) : by(b) {}
  __device__ unsigned once(unsigned v) const { return v ^ by; }
};
template <class T>
struct Weight {
  static constexpr unsigned value = 3;
};
template <class T>
struct Weight<T*> {
  static constexpr unsigned value = 5 * Weight<T>::value;
};
template <template <class> class Of, class T>
__device__ unsigned weighed(unsigned v) { return v * Of<T>::value; }
template <class... T>
__device__ unsigned folded(T... v) { return (0U ^ ... ^ (v * 7U)); }
template <unsigned... I>
struct Steps {};
template <unsigned... I>
__device__ unsigned stepped(unsigned v, Steps<I...>) { return ((v >> I) + ... + 0U); }
template <class T, class = decltype(T().by)>
__device__ unsigned has(T t, int) { return t.by; }
template <class T>
__device__ unsigned has(T, long) { return 11U; }
template <class T>
__device__ unsigned measured(const T&) { return 100U + sizeof(T); }
template <class T, unsigned N>
__device__ unsigned measured(const T (&)[N]) { return N * 13U; }
__device__ inline unsigned found(unsigned x, unsigned y) {
  unsigned array[5] = {x};
  return has(Pair{x, y}, 0) + measured(array) + measured(&array[1]) + measured(wide(x, y)) + stepped(y, Steps<1U, 4U, 9U>());
}
__device__ inline unsigned lambdas(unsigned x, unsigned y) {
  const auto generic = [](auto p, auto q) { return unsigned(p * 3 + q); };
  auto counting = [n = x, y]() mutable { return n += y; };
  counting();
  const auto made = [=](unsigned by) { return [=](unsigned v) { return v * by + x; }; };
  return generic(x, 5ULL) + generic(int(y), 2U) + counting() + made(y)(7U);
}
__device__ inline unsigned chosen(unsigned which, unsigned v) {
  unsigned (*const calls[3])(unsigned) = {twice, power<3>, apply<twice>};
  return calls[which % 3U](v);
}
__device__ inline unsigned with_switch(unsigned x, unsigned y) {
  unsigned r = 1;
  switch (x % 9U) {
    case 1: r += y;
    case 2: return r * 3U;
    default:
      switch (static_cast<a::Axis>(y & 1U)) {
        case a::Axis::row: r = y; break;
        case a::Axis::column: r ^= x;
      }
    case 5: ++r; break;
    case 7: {
      do r = r * 5U + 1U;
      while (r < (y & 255U));
    }
  }
  return r + x;
}
__device__ inline unsigned common_divisor(unsigned x, unsigned y) {
  x &= 1023U, y &= 1023U;
  while (y != 0U) {
    const unsigned rest = x % y;
    x = y;
    y = rest;
  }
  return x;
}
__device__ inline unsigned steps_to_one(unsigned v) {
  unsigned steps = 0;
  for (v = (v & 255U) + 1U; v != 1U && steps < 40U; ++steps) v = v & 1U ? 3U * v + 1U : v >> 1;
  return steps;
}
[[nodiscard]] __device__ inline unsigned nested(unsigned x, unsigned y) {
  unsigned r = 0;
#pragma unroll 2
  for (unsigned i = 0; i < (x & 7U); ++i) {
    for (unsigned j = i;; j += 2U) {
      if (j > (y & 15U)) break;
      if ((i ^ j) & 1U) continue;
      r += i * j + 1U;
    }
  }
  return r;
}
struct Grain {
  unsigned short size;
  signed char sign;
};
__constant__ const Grain GRAINS[4] = {{ODD, 1}, {300, -1}, {SMALL, 1}, {7, -3}};
__device__ inline unsigned grain(unsigned i) { return unsigned(GRAINS[i & 3U].size * GRAINS[i & 3U].sign); }
)";

/// Calls of it, with {0}, {1} and {2} for values.
inline constexpr const char* program_calls[] = {"divide64({0}, {1})",
                                                "signed64({0}, {1})",
                                                "high({0}, {1})",
                                                "bits({0}, {1})",
                                                "narrow({0}, {1})",
                                                "halves({0}, {1})",
                                                "floats({0}, {1})",
                                                "doubles({0}, {1})",
                                                "through_union({0}, {1})",
                                                "through_fields({0}, {1})",
                                                "by_value({0}, {1})",
                                                "from_array({0}, {1}, {2})",
                                                "operators({0}, {1})",
                                                "Once({0}).twice({1})",
                                                "weighed<Weight, int**>({0})",
                                                "folded({0}, {1}, {2})",
                                                "found({0}, {1})",
                                                "lambdas({0}, {1})",
                                                "with_switch({0}, {1})",
                                                "common_divisor({0}, {1})",
                                                "steps_to_one({0})",
                                                "nested({0}, {1})",
                                                "grain({0})",
                                                "turned(Big{{{0}}}, {1}).pair.second",
                                                "(wide({0}, {1}) > wide({2}, {0}) ? {1} : 5U)"};

/// Where all threads of a block come, with {0} for a value of the thread, {1} for one of the block.
inline constexpr std::string_view program_meetings_library = R"(
template <class T, class F>
__device__ T in_shared(T start, F each) {
  __shared__ T held[256];
  __syncthreads();
  held[rank()] = start;
  __syncthreads();
  each(held);
  __syncthreads();
  const T r = held[rank()];
  __syncthreads();
  return r;
}
__device__ inline unsigned added(unsigned v) {
  return in_shared(0U, [&](unsigned* held) {
    atomicAdd(&held[v % THREADS], v >> 3);
    if (v & 1U) atomicAdd(&held[v / 2U % THREADS], 5U);
  });
}
__device__ inline unsigned added64(unsigned v) {
  return fold64(in_shared(1ULL, [&](unsigned long long* held) { atomicAdd(&held[v % THREADS], wide(v, 3U)); }));
}
__device__ inline unsigned added_floats(unsigned v) {  // of few bits: in any order
  return unsigned(in_shared(0.5f, [&](float* held) { atomicAdd(&held[v % THREADS], float(v & 63U)); }) * 2.0f);
}
__device__ inline unsigned extremes(unsigned v) {
  const unsigned least = in_shared(~0U, [&](unsigned* held) { atomicMin(&held[v & 7U & (THREADS - 1U)], v); });
  return least ^ unsigned(in_shared(-5, [&](int* held) { atomicMax(&held[v % THREADS], int(v)); }));
}
__device__ inline unsigned combined(unsigned v) {
  return in_shared(0xf0f0f0f0U, [&](unsigned* held) { atomicAnd(&held[v % THREADS], v | 1U); }) +
         in_shared(0U, [&](unsigned* held) { atomicInc(&held[v % THREADS], 6U); });
}
__device__ inline unsigned swapped(Pair p, unsigned k) {
  __shared__ Pair pairs[256];
  __syncthreads();
  pairs[rank()] = p;
  __syncthreads();
  const Pair r = pairs[(rank() + k) % THREADS];
  __syncthreads();
  return r.first ^ r.second;
}
)";
inline constexpr const char* program_meetings[] = {"added({0})",    "added64({0})",  "added_floats({0})",
                                                   "extremes({0})", "combined({0})", "swapped({{{0}, {1}}}, 3U)"};
/// Those whose result is the same for all threads.
inline constexpr const char* program_votes[] = {"unsigned(__syncthreads_count({0} & 4U))",
                                                "unsigned(__syncthreads_or(int({0} & 255U)) != 0)",
                                                "unsigned(__syncthreads_and(({0} & 255U) != 7U) != 0)"};

/// Where lanes come, with {0} for their mask and {1} for a value of the lane.
inline constexpr std::string_view program_lanes_library = R"(
template <class T>
__device__ T of_first(unsigned mask, T v) { return __shfl_sync(mask, v, __ffs(mask) - 1); }
__device__ inline unsigned exclusive(unsigned mask, unsigned v) {  // of whole warps
  unsigned sum = v;
  for (unsigned d = 1; d < 32U; d *= 2U) {
    const unsigned below = __shfl_up_sync(mask, sum, d);
    if (LANE >= d) sum += below;
  }
  return sum - v;
}
__device__ inline unsigned of_leader(unsigned mask, unsigned v) {  // one lane works for all
  unsigned r = 0;
  const int leader = __ffs(mask) - 1;
  if (int(LANE) == leader) {
    for (unsigned i = 0; i <= (v & 7U); ++i) r += TABLE[i] * v;
  }
  __syncwarp(mask);
  return __shfl_sync(mask, r, leader);
}
)";
inline constexpr const char* program_lane_calls[] = {
    "fold64(of_first({0}, wide({1}, LANE)))", "unsigned(of_first({0}, float({1} & 4095U)))",
    "unsigned(of_first({0}, double({1})) * 0.5)", "unsigned(of_first({0}, int({1})) >> 2)", "of_leader({0}, {1})"};
inline constexpr const char* program_lane_calls_apart[] = {
    "({0} == ~0U ? exclusive({0}, {1}) : 3U)", "unsigned(__match_any_sync({0}, {1} & 3U))",
    "({0} == ~0U ? fold64(__shfl_xor_sync({0}, wide({1}, 1U), 5)) : {1})",
    "({0} == ~0U ? unsigned(__shfl_down_sync({0}, float({1} & 1023U), 3, 8)) : 4U)"};

/// What stands in loops that lanes leave one by one, and what not every work-group pass takes: for wild programs.
inline constexpr std::string_view program_wild_library = R"(
__device__ inline void add_by_swaps(unsigned* at, unsigned v) {
  unsigned seen = *static_cast<volatile unsigned*>(at);
  for (;;) {
    const unsigned before = atomicCAS(at, seen, seen + v);
    if (before == seen) break;
    seen = before;
  }
}
__device__ inline unsigned through_volatile(unsigned v) {
  volatile unsigned kept = v;
  kept = kept * 3U;
  return kept;
}
)";

}  // namespace weir::test
