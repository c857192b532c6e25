// SPDX-License-Identifier: Apache-2.0
// Control flow that is typical of old code.
#include <stdio.h>
#include <assert.h>
#define CUDA_KERNEL extern "C" __global__ void
#define SYNC() __syncthreads()
#define FOR_EACH(i, n) for (int i = threadIdx.x, i##_end = (n); i < i##_end; i += blockDim.x)
#define CHECK_BOUNDS(i, n) do { if ((i) >= (n)) return; } while (0)
#ifdef __CUDA_ARCH__
#define ON_DEVICE 1
#else
#define ON_DEVICE 0
#endif
enum class Op : int { Add, Mul, Max, None };
namespace detail {
template <typename T, Op op> struct Functor;
template <typename T> struct Functor<T, Op::Add> { static constexpr T identity = T(0); __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct Functor<T, Op::Max> { static constexpr T identity = T(-1000000); __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
template <class... Ts> __device__ __forceinline__ auto sum_of(Ts... ts) { return (ts + ...); }
constexpr int ilog2(int n) { int r = 0; while (n >>= 1) ++r; return r; }
constexpr int strides[] = {1, 2, 4, 8};
}
// a block reduction that takes the functor's instance, and a switch whose cases meet
template <typename F, typename T>
__device__ T block_reduce(T v, T* s, F f) {
  const int t = threadIdx.x;
  s[t] = v;
  SYNC();
#pragma unroll 4
  for (int i = blockDim.x >> 1; i; i >>= 1) {
    if (t < i) s[t] = f(s[t], s[t + i]);
    SYNC();
  }
  T r = s[0];
  SYNC();
  return r;
}
CUDA_KERNEL odd_switch(const int* in, int* out, int mode, int n) {
  extern __shared__ int smem[];
  const int t = threadIdx.x;
  int v = t < n ? in[blockIdx.x * n + t] : 0;
  switch (mode) {
    case 0:
    case 1: {
      v = block_reduce(v, smem, detail::Functor<int, Op::Add>());
      break;
    }
    case 2:
      v = block_reduce(t < n ? v : detail::Functor<int, Op::Max>::identity, smem, detail::Functor<int, Op::Max>{});
      // fall through
    case 3:
      smem[t] = v;
      __syncthreads();
      v += smem[(t + 1) % blockDim.x];
      __syncthreads();
      break;
    default:
      v = -1;
  }
  if (t < n) out[blockIdx.x * n + t] = v;
}
// while (true), break after a vote; continue in front of a barrier for all
CUDA_KERNEL odd_vote(const unsigned* in, unsigned* out, int n) {
  const unsigned lane = threadIdx.x & 31u;
  unsigned x = in[blockIdx.x * blockDim.x + threadIdx.x], steps = 0;
  while (true) {
    const bool done = (x <= 1);
    if (__all_sync(0xffffffff, done)) break;
    if (!done) {
      x = (x & 1) ? 3 * x + 1 : x >> 1;
      ++steps;
    }
    if (__popc(__ballot_sync(0xffffffff, done)) == 31) {
      const int last = __ffs((int)~__ballot_sync(0xffffffff, done)) - 1;
      x = __shfl_sync(0xffffffff, x, last) * (lane == last) + x * (lane != last);
    }
    if (steps > 500) { x = 0; }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = steps;
}
// nested loops with barriers, comma operators, ternaries, shadowed names, unsigned wrap
CUDA_KERNEL odd_shadow(const float* __restrict__ a, float* __restrict__ o, int n) {
  __shared__ float tile[2][64 + 1];
  int i = threadIdx.x, cur = 0;
  float acc = 0.f;
  tile[cur][i] = a[i];
  __syncthreads();
  for (int j = 1, k = 0; j < n; j <<= 1, ++k) {
    float acc = tile[cur][i];
    if (int l = i - j; l >= 0) acc += tile[cur][l];
    cur ^= 1;
    tile[cur][i] = acc;
    { int i = threadIdx.x; assert(i < 64); (void)i; }
    __syncthreads();
    if (k > 10) break;
  }
  acc = tile[cur][i];
  for (unsigned u = 3; u < 4u; --u) acc += __shfl_xor_sync(~0u, acc, detail::strides[u]) * 0.5f;
  o[i] = acc;
}
// lambdas and generic code
template <int N, typename F> __device__ __forceinline__ void static_for(F&& f) {
  if constexpr (N > 0) { static_for<N - 1>(f); f(N - 1); }
}
template <int ITEMS> struct Regs {
  float r[ITEMS];
  __device__ float& operator[](int i) { return r[i]; }
  __device__ const float& operator[](int i) const { return r[i]; }
  template <class F> __device__ void each(F f) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) f(r[i], i);
  }
  friend __device__ Regs operator+(Regs a, const Regs& b) { for (int i = 0; i < ITEMS; ++i) a.r[i] += b.r[i]; return a; }
};
template <int ITEMS>
__global__ void __launch_bounds__(64) odd_regs(const float* in, float* out) {
  Regs<ITEMS> a, b;
  __shared__ float s[64 * ITEMS];
  a.each([&](float& x, int i) { x = in[(blockIdx.x * blockDim.x + threadIdx.x) * ITEMS + i]; });
  static_for<ITEMS>([&](int i) { s[threadIdx.x + i * 64] = a[i]; });
  __syncthreads();
  b.each([&](float& x, int i) { x = s[(threadIdx.x ^ 1) + i * 64]; });
  auto c = a + b;
  for (float& x : c.r) x = fmaf(x, 2.f, 1.f);
  float total = detail::sum_of(c[0], c[1], 0.5f);
  __syncthreads();
  s[threadIdx.x] = total;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x] + c[ITEMS - 1];
}
template __global__ void odd_regs<3>(const float* in, float* out);
// early returns by whole warps and by single threads, a goto without meetings
CUDA_KERNEL odd_returns(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x == 1) return;
  if (threadIdx.x >= 96) return;
  __shared__ int s[96];
  s[threadIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x >= 64) { out[i] = s[threadIdx.x - 64]; return; }
  __syncthreads();
  out[i] = s[95 - threadIdx.x];
}
__device__ __noinline__ int find_char(const char* s, int n, char c) {
  int i = 0;
again:
  if (i >= n) goto none;
  if (s[i] == c) return i;
  ++i;
  goto again;
none:
  return -1;
}
CUDA_KERNEL odd_goto(const char* s, int* out, int n) {
  __shared__ char copy[64];
  if (threadIdx.x < n) copy[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = find_char(copy, n, 'a' + threadIdx.x);
}
