// SPDX-License-Identifier: Apache-2.0
// Kernels in unusual style: functors, divided shared memory, switches, votes in conditions, operators of structs, bit sets.
#include <assert.h>
#include <stdio.h>
#define BLOCK 64
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define CUDA_1D_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
__device__ float d_offset = 2.0f;
__device__ int d_counter;
__constant__ int c_table[8] = {1, 2, 3, 5, 8, 13, 21, 34};
constexpr int kWidth = 8;
struct __align__(16) Particle { float3 pos; float mass; };
template <typename T> struct Op { __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a + b; } };
template <typename T> struct MaxOp { __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a > b ? a : b; } };
inline __device__ float clamp(float v, float lo, float hi) { return fmaxf(lo, fminf(v, hi)); }
#ifndef __HIPCC_RTC__  // HIP has them
inline __device__ __host__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __device__ void operator+=(float3& a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
#endif

// block reduce template with functor
template <typename T, int N, typename F>
__device__ __forceinline__ T blockReduce(T v, F f, T* buf) {
  buf[threadIdx.x] = v;
  __syncthreads();
#pragma unroll
  for (int s = N / 2; s >= 1; s >>= 1) {
    if (threadIdx.x < s) { buf[threadIdx.x] = f(buf[threadIdx.x], buf[threadIdx.x + s]); }
    __syncthreads();
  }
  T r = buf[0];
  __syncthreads();
  return r;
}
extern "C" __global__ void __launch_bounds__(BLOCK) k_functor(const float* __restrict__ in, float* __restrict__ out, int n) {
  __shared__ float buf[BLOCK];
  float s = 0.f, m = -1e30f;
  CUDA_1D_KERNEL_LOOP(i, n) { s += in[i]; m = fmaxf(m, in[i]); }
  s = blockReduce<float, BLOCK>(s, Op<float>(), buf);
  m = blockReduce<float, BLOCK>(m, MaxOp<float>{}, buf);
  if (threadIdx.x == 0) { out[2 * blockIdx.x] = s; out[2 * blockIdx.x + 1] = m; }
}
// extern shared cast to several arrays
extern "C" __global__ void k_carve(const float* in, int* idx, float* out, int n) {
  extern __shared__ unsigned char raw[];
  float* vals = (float*)raw;
  int* ids = (int*)&vals[blockDim.x];
  Particle* parts = reinterpret_cast<Particle*>(ids + blockDim.x);
  int t = threadIdx.x;
  vals[t] = t < n ? in[t] : 0.f; ids[t] = t; parts[t].mass = 2 * vals[t]; parts[t].pos = make_float3(t, t, t);
  __syncthreads();
  int o = blockDim.x - 1 - t;
  out[t] = vals[o] + parts[o].mass + parts[o].pos.y; idx[t] = ids[o];
}
// switch around (not containing) barriers, early exit loop w/o goto, flag in shared
extern "C" __global__ void k_switch(const int* in, int* out, int mode) {
  __shared__ int s[BLOCK];
  __shared__ bool done;
  int v = in[threadIdx.x];
  switch (mode & 3) {
    case 0: v += 1; break;
    case 1: v *= 2;  // fall through
    case 2: v -= 3; break;
    default: v = -v;
  }
  s[threadIdx.x] = v;
  __syncthreads();
  for (int it = 0;; ++it) {
    if (threadIdx.x == 0) done = true;
    __syncthreads();
    int a = s[threadIdx.x], b = s[(threadIdx.x + 1) % BLOCK];
    __syncthreads();
    if (a > 100) { s[threadIdx.x] = a / 2; done = false; }
    __syncthreads();
    bool stop = done;
    __syncthreads();
    if (stop || it > 20) break;
  }
  out[threadIdx.x] = s[threadIdx.x];
}
// barrier in ?: / && condition: __syncthreads_or inside while cond
extern "C" __global__ void k_while_vote(int* data, int* rounds) {
  __shared__ int s[BLOCK];
  s[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  int r = 0;
  while (__syncthreads_or(s[threadIdx.x] > 0) && r < 100) { s[threadIdx.x]--; ++r; }
  data[threadIdx.x] = s[threadIdx.x];
  if (threadIdx.x == 0) *rounds = r;
}
// struct with method holding pointer to shared, no barrier
struct Tile { float* p; int stride; __device__ float& operator()(int r, int c) { return p[r * stride + c]; } };
extern "C" __global__ void k_tile(const float* in, float* out) {
  __shared__ float mem[8 * 9];
  Tile t{mem, 9};
  t(threadIdx.y, threadIdx.x) = in[threadIdx.y * 8 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 8 + threadIdx.x] = t(threadIdx.x, threadIdx.y);
}

// A switch with barriers in it, by a value on which the block agrees or not.
extern "C" __global__ void k_switch_barrier(const int* mode, int* out) {
  __shared__ int s[BLOCK];
  s[threadIdx.x] = threadIdx.x;
  switch (mode[blockIdx.x]) {
    case 0:
    case 4:
      __syncthreads();
      out[blockIdx.x * BLOCK + threadIdx.x] = s[BLOCK - 1 - threadIdx.x];
      break;
    case 1: {
      out[blockIdx.x * BLOCK + threadIdx.x] = 7;
      __syncthreads();
      break;
    }
    default: out[blockIdx.x * BLOCK + threadIdx.x] = -1; return;
    case 2: __syncthreads(); out[blockIdx.x * BLOCK + threadIdx.x] = 100 + s[threadIdx.x ^ 1];
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&d_counter, 1);
}

// Words of bits, of single roundings and conversions.
extern "C" __global__ void k_bits(const unsigned* in, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(in != NULL);
  const unsigned v = in[i];
  out[i] = __popc(v) + 100 * __clz((int)v) + 10000 * __ffs((int)v);
  out[n + i] = __brev(v);
  out[2 * n + i] = __umulhi(v, 0x9E3779B9u);
  out[3 * n + i] = (unsigned)(__popcll((unsigned long long)v << 20) + 100 * __clzll((long long)v));
  out[4 * n + i] = __float_as_uint(__uint_as_float(v & 0x3fffffffu));
  out[5 * n + i] = (unsigned)__float2int_rz(__fmul_rn((float)(v % 1000), 0.5f));
  out[6 * n + i] = (unsigned)clamp((float)(v % 100), 10.0f, 50.0f);
  out[7 * n + i] = (unsigned)(rsqrtf((float)(v % 1000 + 1)) * 1000.0f);
  out[8 * n + i] = c_table[v % kWidth] + (unsigned)d_offset;
  if (v == 0xdeadbeefu) printf("found %u\n", v);
}

// Sums of vectors of three by operators that the source defines.
extern "C" __global__ void k_forces(const float3* in, float3* out, int n) {
  __shared__ Particle tile[BLOCK];
  float3 sum = make_float3(0.f, 0.f, 0.f);
  for (int first = 0; first < n; first += BLOCK) {
    if (first + threadIdx.x < n) tile[threadIdx.x].pos = in[first + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < BLOCK && first + k < n; ++k) sum += tile[k].pos + make_float3(1.f, 0.f, 0.f);
    __syncthreads();
  }
  out[blockIdx.x * BLOCK + threadIdx.x] = sum;
}

// Variables and parameters whose type stands around the name.
__device__ float halved(float x) { return 0.5f * x; }
template <int width>
__device__ float total_of_row(float (*__restrict__ tile)[width], float (&totals)[8], int row) {
  const float (*const own)[width] = tile + row;
  __syncthreads();
  if (threadIdx.x % 8 == 0) {
    totals[row] = 0.f;
    for (int k = 0; k < 8; ++k) totals[row] += (*own)[k];
  }
  __syncthreads();
  return totals[row] - (*own)[8];
}
extern "C" __global__ void k_types_around(const float (*in)[8], float* out) {
  extern __shared__ float rows[];
  __shared__ float all[2][8];
  const int row = threadIdx.x / 8, column = threadIdx.x % 8;
  float (*tile)[9] = reinterpret_cast<float (*)[9]>(rows);
  float (&totals)[8] = all[1];
  float (*f)(float) = halved;
  float own[2] = {2.f, 3.f};
  float (&factors)[2] = own;
  tile[row][column] = in[row][column];
  if (column == 0) tile[row][8] = 1.f;
  const float total = total_of_row<9>(tile, all[1], row);
  for (float (*r)[9] = tile; r < tile + 2; ++r) {
    __syncthreads();
    if (threadIdx.x < 8) (*r)[threadIdx.x] += factors[1];
    __syncthreads();
  }
  out[threadIdx.x] = tile[column][row] + f(totals[7 - row]) + factors[0] * total;
}

// Pointers that do not change, handed to a template by which they are not deduced to be constant.
template <class T>
__device__ void smallest_and_greatest(T* const low, T* const __restrict__ high, const T *const first, int const n) {
  const int t = threadIdx.x;
  low[t] = high[t] = t < n ? first[t] : first[0];
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (t < d) {
      low[t] = min(low[t], low[t + d]);
      high[t] = max(high[t], high[t + d]);
    }
    __syncthreads();
  }
}
extern "C" __global__ void k_constant_pointers(const int* in, int* out, int n) {
  __shared__ int low[64], high[64], again[64];
  int* const other = again;
  const int* const from = in + 64 * blockIdx.x;
  smallest_and_greatest(low, high, from, n);
  if (threadIdx.x == 0) {
    out[3 * blockIdx.x] = low[0];
    out[3 * blockIdx.x + 1] = high[0];
  }
  __syncthreads();
  smallest_and_greatest(other, high, in, 1);
  if (threadIdx.x == 0) out[3 * blockIdx.x + 2] = again[0];
}

// Constants that a function computes, beside barriers: in types, assertions, templates' arguments and conditions.
__host__ __device__ constexpr int logarithm(int n) { return n > 1 ? 1 + logarithm(n / 2) : 0; }
template <int rounds, int step>
__device__ void add_neighbours(int (&values)[2], int* s) {
  const int t = threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    s[t] = values[0];
    __syncthreads();
    values[0] += s[(t + step) % 64];
    __syncthreads();
  }
  values[1] = rounds;
}
template <int threads>
__global__ void k_constants(const int* in, int* out) {
  constexpr int rounds = logarithm(threads) - 4, steps[2] = {logarithm(2), logarithm(4)};
  static_assert(rounds == 2, "two rounds");
  constexpr bool wide = logarithm(threads) > 5;
  __shared__ int s[1 << logarithm(threads)];
  int values[2] = {in[threadIdx.x], 0};
  add_neighbours<rounds, steps[1]>(values, s);
  if (wide) {
    s[threadIdx.x] = values[0];
    __syncthreads();
    values[0] = s[threadIdx.x ^ rounds];
  }
  out[threadIdx.x] = values[0] + values[1];
}
template __global__ void k_constants<64>(const int*, int*);

// Types that are told by variables which live across barriers, by arrays, and by the variable that is declared.
extern "C" __global__ void k_told_types(const int* in, int* out) {
  extern __shared__ int dynamic[];
  int (*rows)[16] = reinterpret_cast<decltype(rows)>(dynamic);
  const int t = threadIdx.x;
  int v = in[t];
  int& same = v;
  __shared__ int s[64];
  rows[t / 16][t % 16] = v;
  s[t] = v + 1;
  __syncthreads();
  {
    decltype(v) w = v;
    w += rows[3 - t / 16][t % 16];
    decltype(same) x = v;
    x += 1;
    const decltype(s)* whole = &s;
    out[t] = 1000 * w + static_cast<int>(sizeof(decltype(s))) + (*whole)[63 - t];
  }
  __syncthreads();
  out[64 + t] = v;
}
