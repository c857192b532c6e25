#include <cuda_fp16.h>
#include <float.h>
#define WARP_SIZE 32
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define DIVIDE_ROUND_UP(a, b) (((a) + (b) - 1) / (b))
#define VLLM_SHFL_XOR_SYNC(var, lane_mask) __shfl_xor_sync(uint32_t(-1), var, lane_mask)
#define VLLM_SHFL_SYNC(var, src_lane) __shfl_sync(uint32_t(-1), var, src_lane)
#include <stdint.h>
namespace vllm {
template <typename T, int VEC_SIZE> struct Vec {};
template <> struct Vec<float, 4> { using Type = float4; };
template <> struct Vec<float, 2> { using Type = float2; };
template <> struct Vec<uint16_t, 8> { using Type = uint4; };
struct Float8_ { float2 x, y, z, w; };
template <typename Acc, typename A, typename B> inline __device__ Acc mul(A a, B b);
template <> inline __device__ float4 mul<float4, float4, float4>(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
template <> inline __device__ float2 mul<float2, float2, float2>(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }
template <typename T> inline __device__ float sum(T v);
template <> inline __device__ float sum(float2 v) { return v.x + v.y; }
inline __device__ float2 fma(float2 a, float2 b, float2 c) { return make_float2(::fma(a.x, b.x, c.x), ::fma(a.y, b.y, c.y)); }
template <> inline __device__ float sum(float4 v) { return v.x + v.y + v.z + v.w; }
inline __device__ float4 fma(float4 a, float4 b, float4 c) { return make_float4(::fma(a.x, b.x, c.x), ::fma(a.y, b.y, c.y), ::fma(a.z, b.z, c.z), ::fma(a.w, b.w, c.w)); }
template <int THREAD_GROUP_SIZE, typename Vec, int N>
inline __device__ float qk_dot_(const Vec (&q)[N], const Vec (&k)[N]) {
  Vec qk_vec = mul<Vec, Vec, Vec>(q[0], k[0]);
#pragma unroll
  for (int ii = 1; ii < N; ++ii) qk_vec = vllm::fma(q[ii], k[ii], qk_vec);
  float qk = sum(qk_vec);
#pragma unroll
  for (int mask = THREAD_GROUP_SIZE / 2; mask >= 1; mask /= 2) qk += VLLM_SHFL_XOR_SYNC(qk, mask);
  return qk;
}
template <typename T, int THREAD_GROUP_SIZE>
struct Qk_dot {
  template <typename Vec, int N>
  static inline __device__ float dot(const Vec (&q)[N], const Vec (&k)[N]) { return qk_dot_<THREAD_GROUP_SIZE>(q, k); }
};
template <int NUM_WARPS>
inline __device__ float block_sum(float* red_smem, float sum) {
  int warp = threadIdx.x / WARP_SIZE;
  int lane = threadIdx.x % WARP_SIZE;
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= 1; mask /= 2) sum += VLLM_SHFL_XOR_SYNC(sum, mask);
  if (lane == 0) red_smem[warp] = sum;
  __syncthreads();
  if (lane < NUM_WARPS) sum = red_smem[lane];
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2) sum += VLLM_SHFL_XOR_SYNC(sum, mask);
  return VLLM_SHFL_SYNC(sum, 0);
}
template <typename scalar_t, int HEAD_SIZE, int BLOCK_SIZE, int NUM_THREADS>
__global__ void paged_attention(scalar_t* __restrict__ out, const scalar_t* __restrict__ q, const scalar_t* __restrict__ k_cache, const scalar_t* __restrict__ v_cache,
                                const float scale, const int* __restrict__ block_tables, const int* __restrict__ context_lens, const int max_num_blocks_per_seq,
                                const float* __restrict__ alibi_slopes, const int q_stride, const int kv_block_stride, const int kv_head_stride) {
  const int seq_idx = blockIdx.y;
  const int context_len = context_lens[seq_idx];
  const int num_context_blocks = DIVIDE_ROUND_UP(context_len, BLOCK_SIZE);
  constexpr int THREAD_GROUP_SIZE = MAX(WARP_SIZE / BLOCK_SIZE, 1);
  constexpr int NUM_THREAD_GROUPS = NUM_THREADS / THREAD_GROUP_SIZE;
  constexpr int NUM_TOKENS_PER_THREAD_GROUP = DIVIDE_ROUND_UP(BLOCK_SIZE, WARP_SIZE);
  constexpr int NUM_WARPS = NUM_THREADS / WARP_SIZE;
  const int thread_idx = threadIdx.x;
  const int warp_idx = thread_idx / WARP_SIZE;
  const int lane = thread_idx % WARP_SIZE;
  const int head_idx = blockIdx.x;
  const int num_heads = gridDim.x;
  const float alibi_slope = alibi_slopes == nullptr ? 0.f : alibi_slopes[head_idx];
  constexpr int VEC_SIZE = MAX(16 / (THREAD_GROUP_SIZE * sizeof(scalar_t)), 1);
  using K_vec = typename Vec<scalar_t, VEC_SIZE>::Type;
  using Q_vec = typename Vec<scalar_t, VEC_SIZE>::Type;
  constexpr int NUM_ELEMS_PER_THREAD = HEAD_SIZE / THREAD_GROUP_SIZE;
  constexpr int NUM_VECS_PER_THREAD = NUM_ELEMS_PER_THREAD / VEC_SIZE;
  const int thread_group_idx = thread_idx / THREAD_GROUP_SIZE;
  const int thread_group_offset = thread_idx % THREAD_GROUP_SIZE;
  const scalar_t* q_ptr = q + seq_idx * q_stride + head_idx * HEAD_SIZE;
  __shared__ Q_vec q_vecs[THREAD_GROUP_SIZE][NUM_VECS_PER_THREAD];
#pragma unroll
  for (int i = thread_group_idx; i < NUM_VECS_PER_THREAD; i += NUM_THREAD_GROUPS) {
    const int vec_idx = thread_group_offset + i * THREAD_GROUP_SIZE;
    q_vecs[thread_group_offset][i] = *reinterpret_cast<const Q_vec*>(q_ptr + vec_idx * VEC_SIZE);
  }
  __syncthreads();
  extern __shared__ char shared_mem[];
  float* logits = reinterpret_cast<float*>(shared_mem);
  __shared__ float red_smem[2 * NUM_WARPS];
  float qk_max = -FLT_MAX;
  const int* block_table = block_tables + seq_idx * max_num_blocks_per_seq;
  for (int block_idx = warp_idx; block_idx < num_context_blocks; block_idx += NUM_WARPS) {
    const int64_t physical_block_number = static_cast<int64_t>(block_table[block_idx]);
    for (int i = 0; i < NUM_TOKENS_PER_THREAD_GROUP; i++) {
      const int physical_block_offset = (thread_group_idx + i * WARP_SIZE) % BLOCK_SIZE;
      const int token_idx = block_idx * BLOCK_SIZE + physical_block_offset;
      K_vec k_vecs[NUM_VECS_PER_THREAD];
#pragma unroll
      for (int j = 0; j < NUM_VECS_PER_THREAD; j++) {
        const scalar_t* k_ptr = k_cache + physical_block_number * kv_block_stride + head_idx * kv_head_stride + physical_block_offset * HEAD_SIZE;
        const int vec_idx = thread_group_offset + j * THREAD_GROUP_SIZE;
        k_vecs[j] = *reinterpret_cast<const K_vec*>(k_ptr + vec_idx * VEC_SIZE);
      }
      float qk = scale * Qk_dot<scalar_t, THREAD_GROUP_SIZE>::dot(q_vecs[thread_group_offset], k_vecs);
      qk += (alibi_slope != 0) ? alibi_slope * (token_idx - context_len + 1) : 0;
      if (thread_group_offset == 0) {
        const bool mask = token_idx >= context_len;
        logits[token_idx] = mask ? 0.f : qk;
        qk_max = mask ? qk_max : fmaxf(qk_max, qk);
      }
    }
  }
#pragma unroll
  for (int mask = WARP_SIZE / 2; mask >= THREAD_GROUP_SIZE; mask /= 2) qk_max = fmaxf(qk_max, VLLM_SHFL_XOR_SYNC(qk_max, mask));
  if (lane == 0) red_smem[warp_idx] = qk_max;
  __syncthreads();
  qk_max = lane < NUM_WARPS ? red_smem[lane] : -FLT_MAX;
#pragma unroll
  for (int mask = NUM_WARPS / 2; mask >= 1; mask /= 2) qk_max = fmaxf(qk_max, VLLM_SHFL_XOR_SYNC(qk_max, mask));
  qk_max = VLLM_SHFL_SYNC(qk_max, 0);
  float exp_sum = 0.f;
  for (int i = thread_idx; i < context_len; i += NUM_THREADS) {
    float val = __expf(logits[i] - qk_max);
    logits[i] = val;
    exp_sum += val;
  }
  exp_sum = block_sum<NUM_WARPS>(&red_smem[NUM_WARPS], exp_sum);
  const float inv_sum = __fdividef(1.f, exp_sum + 1e-6f);
  for (int i = thread_idx; i < context_len; i += NUM_THREADS) logits[i] *= inv_sum;
  __syncthreads();
  for (int d = thread_idx; d < HEAD_SIZE; d += NUM_THREADS) {
    float acc = 0.f;
    for (int t = 0; t < context_len; ++t) {
      const int64_t b = block_table[t / BLOCK_SIZE];
      acc += logits[t] * v_cache[b * kv_block_stride + head_idx * kv_head_stride + t % BLOCK_SIZE * HEAD_SIZE + d];
    }
    out[seq_idx * num_heads * HEAD_SIZE + head_idx * HEAD_SIZE + d] = acc;
  }
}
}
template __global__ void vllm::paged_attention<float, 64, 16, 128>(float*, const float*, const float*, const float*, float, const int*, const int*, int, const float*, int, int, int);

#include <assert.h>
#include <stdio.h>
template <class T>
struct SharedMemory {
  __device__ inline operator T*() { extern __shared__ int __smem[]; return (T*)__smem; }
  __device__ inline operator const T*() const { extern __shared__ int __smem[]; return (T*)__smem; }
};
template <typename T, unsigned int blockSize, bool nIsPow2>
__global__ void reduce7(const T* __restrict__ g_idata, T* __restrict__ g_odata, unsigned int n) {
  T* sdata = SharedMemory<T>();
  unsigned int tid = threadIdx.x;
  unsigned int gridSize = blockSize * gridDim.x;
  unsigned int maskLength = (blockSize & 31);
  maskLength = (maskLength > 0) ? (32 - maskLength) : maskLength;
  const unsigned int mask = (0xffffffff) >> maskLength;
  T mySum = 0;
  if constexpr (nIsPow2) {
    unsigned int i = blockIdx.x * blockSize * 2 + threadIdx.x;
    gridSize = gridSize << 1;
    while (i < n) {
      mySum += g_idata[i];
      if ((i + blockSize) < n) mySum += g_idata[i + blockSize];
      i += gridSize;
    }
  } else {
    unsigned int i = blockIdx.x * blockSize + threadIdx.x;
    while (i < n) { mySum += g_idata[i]; i += gridSize; }
  }
  auto warpReduceSum = [mask](T v) {
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(mask, v, offset);
    return v;
  };
  mySum = warpReduceSum(mySum);
  if ((tid % warpSize) == 0) sdata[tid / warpSize] = mySum;
  __syncthreads();
  const unsigned int shmem_extent = (blockSize / warpSize) > 0 ? (blockSize / warpSize) : 1;
  const unsigned int ballot_result = __ballot_sync(mask, tid < shmem_extent);
  if (tid < shmem_extent) {
    mySum = sdata[tid];
    for (int offset = 16; offset > 0; offset /= 2) mySum += __shfl_down_sync(ballot_result, mySum, offset);
  }
  if (tid == 0) g_odata[blockIdx.x] = mySum;
}
template __global__ void reduce7<float, 256, true>(const float*, float*, unsigned);
// sequential addressing with everything unrolled at compile time
template <unsigned int blockSize, typename Op>
__device__ __forceinline__ float block_fold(float v, volatile float* sdata, Op op) {
  const unsigned tid = threadIdx.x;
  sdata[tid] = v;
  __syncthreads();
  if constexpr (blockSize >= 512) { if (tid < 256) sdata[tid] = op(sdata[tid], sdata[tid + 256]); __syncthreads(); }
  if constexpr (blockSize >= 256) { if (tid < 128) sdata[tid] = op(sdata[tid], sdata[tid + 128]); __syncthreads(); }
  if constexpr (blockSize >= 128) { if (tid < 64) sdata[tid] = op(sdata[tid], sdata[tid + 64]); __syncthreads(); }
  if (tid < 32) {
    float t = sdata[tid];
    if constexpr (blockSize >= 64) { t = op(t, sdata[tid + 32]); sdata[tid] = t; __syncwarp(); }
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) { t = op(t, sdata[tid + s]); __syncwarp(); sdata[tid] = t; __syncwarp(); }
  }
  __syncthreads();
  return sdata[0];
}
struct Interval {
  float lo, hi;
  __device__ __host__ Interval(float l, float h) : lo(l), hi(h) {}
  Interval() = default;
  __device__ Interval operator|(const Interval& o) const { return Interval(fminf(lo, o.lo), fmaxf(hi, o.hi)); }
  __device__ Interval& operator|=(const Interval& o) { return *this = *this | o; }
  __device__ bool operator<(const Interval& o) const { return hi - lo < o.hi - o.lo; }
  __device__ explicit operator bool() const { return lo <= hi; }
};
extern "C" __global__ void ranges(const float* __restrict__ in, float2* __restrict__ out, float* sum, long long* ticks, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  Interval* parts = reinterpret_cast<Interval*>(raw);
  float* plain = reinterpret_cast<float*>(raw + blockDim.x * sizeof(Interval));
  const long long start = clock64();
  Interval mine(INFINITY, -INFINITY);
  float total = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    const float v = __ldg(&in[i]);
    mine |= Interval(v, v);
    total += v;
  }
  parts[threadIdx.x] = mine;
  asm volatile("" ::: "memory");
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) parts[threadIdx.x] |= parts[threadIdx.x + s];
    __syncthreads();
  }
  const float all = block_fold<128>(total, plain, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) {
    assert(parts[0] ? true : n == 0);
    if (n < 0) printf("block %d of %d: %f\n", (int)blockIdx.x, (int)gridDim.x, all);
    out[blockIdx.x] = make_float2(parts[0].lo, parts[0].hi);
    atomicAdd(sum, all);
    ticks[blockIdx.x] = clock64() - start;
  }
}

// lambdas in which threads meet; meetings behind ?:, && and ||, in conditions and in steps
__device__ float warp_total(float v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}
template <typename T> __device__ T neighbour(const T& v) { return __shfl_xor_sync(0xffffffffu, v, 1); }
extern "C" __global__ void k_conditions(const int* in, int* out, int n, int width) {
  const int tid = threadIdx.x, lane = tid & 31;
  int v = in[tid];
  // all threads agree on the condition
  const int a = width > 1 ? __shfl_xor_sync(0xffffffffu, v, 1) : v;
  // each half of a warp names itself
  int b = lane < 16 ? __shfl_sync(0x0000ffffu, v, 3) : __shfl_sync(0xffff0000u, v, 19) * 2;
  const bool c = n > 0 && __any_sync(0xffffffffu, v > 90);
  const bool d = lane >= 8 || __all_sync(0x000000ffu, v >= 0);
  int steps = 0;
  for (int i = 0; i < n && !__all_sync(0xffffffffu, v < i); i += 1 + (__ballot_sync(0xffffffffu, v > i) & 1)) {
    if (i == 5) continue;
    steps += i;
  }
  long long e = (width == 3 || n < 0) && __syncthreads_or(v == 7) ? 5000000000ll : neighbour(v) + 1;
  double f = width > 2 ? warp_total((float)lane) + (n > 0 ? neighbour((double)v) : 0.0) : 0.25;
  if (const int most = __reduce_max_sync(0xffffffffu, v); most > 50) b += most;
  if (unsigned odd = __ballot_sync(0xffffffffu, v & 1)) b += __popc(odd) << 20;
  // a choice as a statement of its own
  __shared__ int sent[96];
  sent[tid] = b;
  width > 1 ? __syncthreads() : __syncwarp();
  tid % 32 == 0 ? b = sent[tid + 1] : steps += b - sent[tid];
  int* o = out + tid * 7;
  o[0] = a; o[1] = b; o[2] = c; o[3] = d; o[4] = steps; o[5] = (int)(e / 1000); o[6] = (int)(f * 4);
}
extern "C" __global__ void k_comparisons(const int* in, int* out, int n) {
  const int t = threadIdx.x, lane = t & 31, v = in[t];
  int* o = out + t * 6;
  o[0] = lane < 16 ? __shfl_sync(0x0000ffffu, v, 3) : v >> 1;
  int count = 0;
  const int larger = n < 1 ? __shfl_xor_sync(0xffffffffu, count++, 1) : v > 5;
  o[1] = larger + 2 * count;
  o[2] = lane >= 16 ? t < 20 : v > __shfl_sync(0x0000ffffu, v, 3);
  int sum = 1;
  auto add = [=, &sum](int x) { sum += __shfl_xor_sync(0xffffffffu, x, 1) + n; };
  add(v);
  add(2 * v);
  o[3] = sum;
  auto half_of = [&](const float& x) { return __shfl_xor_sync(0xffffffffu, x, 1) / 2; };
  o[4] = (int)(half_of(v) * 10);
  constexpr int two = 2;
  int kept = v;
  int& alias = kept;
  auto doubled = [=](int x) {
    int all[two] = {x, x};
    return __shfl_xor_sync(0xffffffffu, all[0] + all[two - 1], 1) + alias;
  };
  kept = 1000;
  o[5] = doubled(v);
}
extern "C" __global__ void k_lambdas(const float* in, float* out, int n) {
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  auto warp_sum = [&](float x) {
#pragma unroll
    for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffffu, x, o);
    return x;
  };
  auto block_sum = [&](float x) -> float {
    x = warp_sum(x);
    __syncthreads();
    if (lane == 0) parts[warp] = x;
    __syncthreads();
    x = lane < blockDim.x / 32 ? parts[lane] : 0.0f;
    return warp_sum(x);
  };
  float x = threadIdx.x < n ? in[threadIdx.x] : 0.0f;
  const float mean = block_sum(x) / n;
  const float difference = threadIdx.x < n ? x - mean : 0.0f;
  const float inverse = rsqrtf(block_sum(difference * difference) / n + 1e-5f);
  // what is captured by value stays as it was
  float scale = 2.0f;
  const auto scaled = [=](float value) { return neighbour(value * scale) + scale; };
  scale = 100.0f;
  const float last = [&] {
    __syncthreads();
    parts[lane] = scaled(difference * inverse);
    __syncthreads();
    return parts[lane ^ 1] + 0.0f * scale;
  }();
  const auto store = [&](float* to, float value) {
    __syncwarp();
    if (threadIdx.x < n) to[threadIdx.x] = value;
  };
  if (n > 0 && threadIdx.x < blockDim.x) {
    store(out, difference * inverse);
    if (warp == 0) store(out + n, last);
  }
}

