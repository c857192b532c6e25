// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of llama.cpp: blocks of quantized weights, warps of 32, templates and macros.
#include <cuda_fp16.h>
#include <stdint.h>

#define WARP_SIZE 32
#define QK4_0 32
#define QK8_0 32
#define GGML_UNUSED(x) (void)(x)

typedef struct {
  half d;
  uint8_t qs[QK4_0 / 2];
} block_q4_0;
typedef struct {
  half d;
  int8_t qs[QK8_0];
} block_q8_0;
static_assert(sizeof(block_q4_0) == 18 && sizeof(block_q8_0) == 34, "wrong block sizes");

static __device__ __forceinline__ float warp_reduce_sum(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    x += __shfl_xor_sync(0xffffffff, x, mask, 32);
  }
  return x;
}

static __device__ __forceinline__ float warp_reduce_max(float x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, mask, 32));
  }
  return x;
}

template <int block_size>
static __device__ void rms_norm_f32(const float* x, float* dst, const int ncols, const float eps) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  const int tid = threadIdx.x;
  float tmp = 0.0f;
  for (int col = tid; col < ncols; col += block_size) {
    const float xi = x[row * ncols + col];
    tmp += xi * xi;
  }
  tmp = warp_reduce_sum(tmp);
  if (block_size > WARP_SIZE) {
    __shared__ float s_sum[32];
    int warp_id = threadIdx.x / WARP_SIZE;
    int lane_id = threadIdx.x % WARP_SIZE;
    if (lane_id == 0) {
      s_sum[warp_id] = tmp;
    }
    __syncthreads();
    tmp = lane_id < block_size / WARP_SIZE ? s_sum[lane_id] : 0.0f;
    tmp = warp_reduce_sum(tmp);
  }
  const float mean = tmp / ncols;
  const float scale = rsqrtf(mean + eps);
  for (int col = tid; col < ncols; col += block_size) {
    dst[row * ncols + col] = scale * x[row * ncols + col];
  }
}
extern "C" __global__ void rms_norm_f32_256(const float* x, float* dst, const int ncols, const float eps) { rms_norm_f32<256>(x, dst, ncols, eps); }
extern "C" __global__ void rms_norm_f32_32(const float* x, float* dst, const int ncols, const float eps) { rms_norm_f32<32>(x, dst, ncols, eps); }

// NeoX's way to rotate pairs that lie half a row apart.
extern "C" __global__ void rope_neox(const float* x, float* dst, int ncols, const int32_t* pos, float freq_scale, float theta_scale) {
  const int col = 2 * (blockDim.y * blockIdx.y + threadIdx.y);
  if (col >= ncols) return;
  const int row = blockDim.x * blockIdx.x + threadIdx.x;
  const int i = row * ncols + col / 2;
  const float theta = pos[row] * freq_scale * powf(theta_scale, col / 2.0f);
  float sin_theta, cos_theta;
  sincosf(theta, &sin_theta, &cos_theta);
  const float x0 = x[i + 0];
  const float x1 = x[i + ncols / 2];
  dst[i + 0] = x0 * cos_theta - x1 * sin_theta;
  dst[i + ncols / 2] = x0 * sin_theta + x1 * cos_theta;
}

extern "C" __global__ void quantize_q8_0(const float* __restrict__ x, block_q8_0* __restrict__ y, const int k) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= k) return;
  const int ib = i / QK8_0;
  const int iqs = i % QK8_0;
  const float xi = x[i];
  float amax = fabsf(xi);
  amax = warp_reduce_max(amax);
  const float d = amax / 127;
  const int8_t q = amax == 0.0f ? 0 : roundf(xi / d);
  y[ib].qs[iqs] = q;
  if (iqs > 0) return;
  y[ib].d = d;
}

static __device__ __forceinline__ int get_int_from_uint8(const uint8_t* x8, const int& i32) {
  const uint16_t* x16 = (const uint16_t*)(x8 + sizeof(int) * i32);
  int x32 = 0;
  x32 |= x16[0] << 0;
  x32 |= x16[1] << 16;
  return x32;
}
static __device__ __forceinline__ int dp4a(const int a, const int b, int c) {
  const int8_t* a8 = (const int8_t*)&a;
  const int8_t* b8 = (const int8_t*)&b;
  return c + a8[0] * b8[0] + a8[1] * b8[1] + a8[2] * b8[2] + a8[3] * b8[3];
}
#define VDR 4
template <int vdr>
static __device__ __forceinline__ float vec_dot_q4_0_q8_0_impl(const int* v, const int* u, const float& d4, const float& d8, int sum_u) {
  int sumi = 0;
#pragma unroll
  for (int i = 0; i < vdr; ++i) {
    const int vi0 = (v[i] >> 0) & 0x0F0F0F0F;
    const int vi1 = (v[i] >> 4) & 0x0F0F0F0F;
    sumi = dp4a(vi0, u[2 * i + 0], sumi);
    sumi = dp4a(vi1, u[2 * i + 1], sumi);
  }
  return d4 * d8 * (sumi - 8 * sum_u);
}

// A quantized matrix times a quantized vector, a warp a row.
extern "C" __global__ void mul_mat_vec_q4_0(const void* __restrict__ vx, const void* __restrict__ vy, float* __restrict__ dst, const int ncols, const int nrows) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= nrows) {
    return;
  }
  const int blocks_per_row = ncols / QK4_0;
  float tmp = 0.0f;
  const block_q4_0* x = (const block_q4_0*)vx + row * blocks_per_row;
  const block_q8_0* y = (const block_q8_0*)vy;
  for (int ib = threadIdx.x; ib < blocks_per_row; ib += WARP_SIZE) {
    int v[VDR], u[2 * VDR], sum_u = 0;
#pragma unroll
    for (int i = 0; i < VDR; ++i) {
      v[i] = get_int_from_uint8(x[ib].qs, i);
      u[2 * i + 0] = get_int_from_uint8((const uint8_t*)y[ib].qs, i);
      u[2 * i + 1] = get_int_from_uint8((const uint8_t*)y[ib].qs, i + VDR);
    }
    for (int i = 0; i < QK8_0; ++i) sum_u += y[ib].qs[i];
    tmp += vec_dot_q4_0_q8_0_impl<VDR>(v, u, __half2float(x[ib].d), __half2float(y[ib].d), sum_u);
  }
  // sum up partial sums and write back result
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    tmp += __shfl_xor_sync(0xffffffff, tmp, mask, 32);
  }
  if (threadIdx.x == 0) {
    dst[row] = tmp;
  }
}

template <bool vals_smem>
static __device__ __forceinline__ void soft_max_row(const float* x, const half* mask, float* dst, const int ncols, const float scale, const float slope) {
  const int tid = threadIdx.x;
  const int rowx = blockIdx.x;
  const int warp_id = threadIdx.x / WARP_SIZE;
  const int lane_id = threadIdx.x % WARP_SIZE;
  extern __shared__ float data_soft_max_f32[];
  float* buf_iw = data_soft_max_f32;
  float* vals = vals_smem ? buf_iw + WARP_SIZE : dst + rowx * ncols;
  float max_val = -INFINITY;
#pragma unroll 4
  for (int col0 = 0; col0 < ncols; col0 += 128) {
    const int col = col0 + tid;
    if (col >= ncols) {
      break;
    }
    const float val = x[rowx * ncols + col] * scale + (mask ? slope * __half2float(mask[col]) : 0.0f);
    vals[col] = val;
    max_val = max(max_val, val);
  }
  max_val = warp_reduce_max(max_val);
  if (blockDim.x > WARP_SIZE) {
    if (warp_id == 0) {
      buf_iw[lane_id] = -INFINITY;
    }
    __syncthreads();
    if (lane_id == 0) {
      buf_iw[warp_id] = max_val;
    }
    __syncthreads();
    max_val = buf_iw[lane_id];
    max_val = warp_reduce_max(max_val);
  }
  float tmp = 0.0f;
  for (int col0 = 0; col0 < ncols; col0 += 128) {
    const int col = col0 + tid;
    if (col >= ncols) break;
    const float val = expf(vals[col] - max_val);
    tmp += val;
    vals[col] = val;
  }
  tmp = warp_reduce_sum(tmp);
  if (blockDim.x > WARP_SIZE) {
    __syncthreads();
    if (warp_id == 0) {
      buf_iw[lane_id] = 0.0f;
    }
    __syncthreads();
    if (lane_id == 0) {
      buf_iw[warp_id] = tmp;
    }
    __syncthreads();
    tmp = buf_iw[lane_id];
    tmp = warp_reduce_sum(tmp);
  }
  const float inv_sum = 1.0f / tmp;
  for (int col0 = 0; col0 < ncols; col0 += 128) {
    const int col = col0 + tid;
    if (col >= ncols) return;
    dst[rowx * ncols + col] = vals[col] * inv_sum;
  }
}
extern "C" __global__ void soft_max_f32_smem(const float* x, const half* mask, float* dst, int ncols, float scale, float slope) {
  soft_max_row<true>(x, mask, dst, ncols, scale, slope);
}
extern "C" __global__ void soft_max_f32(const float* x, const half* mask, float* dst, int ncols, float scale, float slope) {
  soft_max_row<false>(x, mask, dst, ncols, scale, slope);
}

#define GELU_COEF_A 0.044715f
#define SQRT_2_OVER_PI 0.79788456080286535587989211986876f
static __device__ __forceinline__ float op_gelu(float x) { return 0.5f * x * (1.0f + tanhf(SQRT_2_OVER_PI * x * (1.0f + GELU_COEF_A * x * x))); }
static __device__ __forceinline__ float op_silu(float x) { return x / (1.0f + expf(-x)); }
template <float (*op)(float), typename T>
static __device__ void unary_op(const T* x, T* dst, const int k) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= k) {
    return;
  }
  dst[i] = (T)op((float)x[i]);
}
extern "C" __global__ void gelu_f32(const float* x, float* dst, const int k) { unary_op<op_gelu, float>(x, dst, k); }
extern "C" __global__ void silu_f32(const float* x, float* dst, const int k) { unary_op<op_silu, float>(x, dst, k); }

// Attention for one query of a head, keys in tiles, the softmax kept up as it goes.
template <int D>
static __device__ __forceinline__ void flash_attn_vec(const float* __restrict__ Q, const half* __restrict__ K, const half* __restrict__ V, float* __restrict__ dst, const float scale, const int ne11) {
  constexpr int nwarps = D / WARP_SIZE;
  const int tid = WARP_SIZE * threadIdx.y + threadIdx.x;
  Q += blockIdx.x * D;
  __shared__ float KQ[D];
  __shared__ float Qs[D];
  Qs[tid] = scale * Q[tid];
  __shared__ float kqmax_shared[WARP_SIZE];
  __shared__ float kqsum_shared[WARP_SIZE];
  float kqmax = -65504.0f / 2.0f;
  float kqsum = 0.0f, VKQ = 0.0f;
  __syncthreads();
  for (int k_VKQ_0 = 0; k_VKQ_0 < ne11; k_VKQ_0 += D) {
    float kqmax_new = kqmax;
#pragma unroll 8  // of 32: all of them take a minute to compile for AVX2
    for (int i_KQ_0 = 0; i_KQ_0 < D; i_KQ_0 += nwarps) {
      const int i_KQ = i_KQ_0 + threadIdx.y;
      if (k_VKQ_0 + i_KQ >= ne11) break;
      float sum = 0.0f;
#pragma unroll
      for (int k_KQ_0 = 0; k_KQ_0 < D; k_KQ_0 += WARP_SIZE) {
        const int k_KQ = k_KQ_0 + threadIdx.x;
        sum += __half2float(K[(k_VKQ_0 + i_KQ) * D + k_KQ]) * Qs[k_KQ];
      }
      sum = warp_reduce_sum(sum);
      kqmax_new = fmaxf(kqmax_new, sum);
      if (threadIdx.x == 0) KQ[i_KQ] = sum;
    }
    kqmax_new = warp_reduce_max(kqmax_new);
    if (threadIdx.x == 0) kqmax_shared[threadIdx.y] = kqmax_new;
    __syncthreads();
    kqmax_new = threadIdx.x < nwarps ? kqmax_shared[threadIdx.x] : -65504.0f / 2.0f;
    kqmax_new = warp_reduce_max(kqmax_new);
    const float KQ_max_scale = expf(kqmax - kqmax_new);
    kqmax = kqmax_new;
    const float val = k_VKQ_0 + tid < ne11 ? expf(KQ[tid] - kqmax) : 0.0f;
    __syncthreads();
    KQ[tid] = val;
    kqsum = kqsum * KQ_max_scale + val;
    VKQ *= KQ_max_scale;
    __syncthreads();
    for (int k = 0; k < D; ++k) {
      if (k_VKQ_0 + k >= ne11) break;
      VKQ += __half2float(V[(k_VKQ_0 + k) * D + tid]) * KQ[k];
    }
    __syncthreads();
  }
  kqsum = warp_reduce_sum(kqsum);
  if (threadIdx.x == 0) kqsum_shared[threadIdx.y] = kqsum;
  __syncthreads();
  kqsum = threadIdx.x < nwarps ? kqsum_shared[threadIdx.x] : 0.0f;
  kqsum = warp_reduce_sum(kqsum);
  dst[blockIdx.x * D + tid] = VKQ / kqsum;
}
extern "C" __global__ void __launch_bounds__(128, 1) flash_attn_vec_128(const float* Q, const half* K, const half* V, float* dst, float scale, int ne11) {
  flash_attn_vec<128>(Q, K, V, dst, scale, ne11);
}
