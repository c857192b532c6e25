// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of PyTorch and llama.cpp for warps of 32: a selection by radix, Welford in blocks, functions as template arguments,
// scans by shuffles.
#include <stddef.h>
#include <stdint.h>
#include <cuda_fp16.h>
#include <assert.h>
#include <stdio.h>
// ================= PyTorch
#define C10_WARP_SIZE 32
template <typename T>
__device__ __forceinline__ T WARP_SHFL_DOWN(T value, unsigned int delta, int width = warpSize, unsigned int mask = 0xffffffff) { return __shfl_down_sync(mask, value, delta, width); }
template <typename T>
__device__ __forceinline__ T WARP_SHFL_XOR(T value, int laneMask, int width = warpSize, unsigned int mask = 0xffffffff) { return __shfl_xor_sync(mask, value, laneMask, width); }
template <typename T>
__device__ __forceinline__ T doLdg(const T* p) { return __ldg(p); }
__device__ __forceinline__ int getLaneId() { return threadIdx.x % C10_WARP_SIZE; }

// ================= PyTorch: BlockReduce with functors, Welford
template <typename scalar_t, typename index_t>
struct WelfordData {
  scalar_t mean;
  scalar_t m2;
  index_t n;
  scalar_t nf;
  __host__ __device__ WelfordData() : mean(0), m2(0), n(0), nf(0) {}
  __host__ __device__ WelfordData(scalar_t mean, scalar_t m2, index_t n, scalar_t nf) : mean(mean), m2(m2), n(n), nf(nf) {}
};
template <typename scalar_t, typename acc_scalar_t, typename index_t>
struct WelfordOps {
  acc_scalar_t correction;
  bool take_sqrt;
 public:
  using acc_t = WelfordData<acc_scalar_t, index_t>;
  inline __device__ acc_t reduce(acc_t acc, scalar_t data, index_t /*idx*/) const {
    // We accumulate n in index_t to avoid cumulative rounding error, but still need nf for use in combine where int32 may overflow.
    index_t new_n = acc.n + 1;
    acc_scalar_t new_nf = static_cast<acc_scalar_t>(new_n);
    acc_scalar_t delta = data - acc.mean;
    acc_scalar_t new_mean = acc.mean + delta / new_nf;
    acc_scalar_t new_delta = data - new_mean;
    return {new_mean, acc.m2 + delta * new_delta, new_n, new_nf};
  }
  inline __device__ acc_t combine(acc_t a, acc_t b) const {
    if (a.nf == 0) return b;
    if (b.nf == 0) return a;
    acc_scalar_t delta = b.mean - a.mean;
    acc_scalar_t new_count = a.nf + b.nf;
    acc_scalar_t nb_over_n = b.nf / new_count;
    return {a.mean + delta * nb_over_n, a.m2 + b.m2 + delta * delta * a.nf * nb_over_n, index_t(-1), new_count};
  }
  inline __device__ float2 project(acc_t acc) const {
    const auto mean = static_cast<scalar_t>(acc.mean);
    const auto divisor = acc.nf > correction ? acc.nf - correction : 0;
    const auto var = acc.m2 / divisor;
    return make_float2(take_sqrt ? sqrtf(var) : var, mean);
  }
  inline __device__ acc_t warp_shfl_down(acc_t acc, int offset) const {
    return {WARP_SHFL_DOWN(acc.mean, offset), WARP_SHFL_DOWN(acc.m2, offset), WARP_SHFL_DOWN(acc.n, offset), WARP_SHFL_DOWN(acc.nf, offset)};
  }
};
struct Block1D {
  static __forceinline__ __device__ int Tid() { return threadIdx.x; }
  static __forceinline__ __device__ int Warps() { return blockDim.x / C10_WARP_SIZE; }
};
template <typename T, class ReduceOp>
__inline__ __device__ T WarpReduce(T val, const ReduceOp& op) {
#pragma unroll
  for (int offset = (C10_WARP_SIZE >> 1); offset > 0; offset >>= 1) {
    val = op.combine(val, op.warp_shfl_down(val, offset));
  }
  return val;
}
template <typename T, class ReduceOp, typename B = Block1D>
__inline__ __device__ T BlockReduce(T val, const ReduceOp& op, const T& identity_element, T* shared) {
  const int tid = B::Tid();
  const int lid = tid % C10_WARP_SIZE;
  const int wid = tid / C10_WARP_SIZE;
  val = WarpReduce(val, op);
  __syncthreads();
  if (lid == 0) {
    shared[wid] = val;
  }
  __syncthreads();
  val = (tid < B::Warps()) ? shared[lid] : identity_element;
  if (wid == 0) {
    val = WarpReduce(val, op);
  }
  return val;
}
extern "C" __global__ void std_var_rows(const float* x, float2* out, int n, float correction, bool take_sqrt) {
  using Ops = WelfordOps<float, float, int32_t>;
  using T = Ops::acc_t;
  __shared__ char raw[32 * sizeof(T)];
  Ops ops{correction, take_sqrt};
  T acc;
  for (int i = threadIdx.x; i < n; i += blockDim.x) acc = ops.reduce(acc, x[blockIdx.x * n + i], i);
  acc = BlockReduce(acc, ops, T(), (T*)raw);
  if (threadIdx.x == 0) out[blockIdx.x] = ops.project(acc);
}

// ================= PyTorch: elementwise by vectors with a remainder; a functor that is a lambda
template <typename scalar_t, int vec_size>
struct alignas(sizeof(scalar_t) * vec_size) aligned_vector {
  scalar_t val[vec_size];
};
template <int vec_size, typename scalar_t>
__device__ aligned_vector<scalar_t, vec_size> load_vector(const scalar_t* base_ptr, uint32_t offset) {
  using vec_t = aligned_vector<scalar_t, vec_size>;
  auto* from = reinterpret_cast<const vec_t*>(base_ptr);
  return from[offset];
}
template <int thread_work_size, typename func_t, typename scalar_t>
__device__ void elementwise_kernel_helper(func_t f, const scalar_t* a, const scalar_t* b, scalar_t* out, int n) {
  constexpr int vec_size = 4;
  constexpr int block_work_size = 64 * thread_work_size;
  int remaining = n - block_work_size * blockIdx.x;
  const int base = block_work_size * blockIdx.x;
  if (remaining < block_work_size) {  // if this block handles the reminder, just do a naive unrolled loop
    int thread_idx = threadIdx.x;
#pragma unroll
    for (int i = 0; i < thread_work_size; i++) {
      if (thread_idx >= remaining) {
        return;
      }
      out[base + thread_idx] = f(a[base + thread_idx], b[base + thread_idx]);
      thread_idx += 64;
    }
  } else {  // if this block has a full `block_work_size` data to handle, use vectorized memory access
    scalar_t results[thread_work_size];
    constexpr int loop_size = thread_work_size / vec_size;
    using vec_t = aligned_vector<scalar_t, vec_size>;
    int thread_idx = threadIdx.x;
#pragma unroll
    for (int i = 0; i < loop_size; i++) {
      int index = thread_idx + i * 64;
      auto va = load_vector<vec_size>(a + base, index);
      auto vb = load_vector<vec_size>(b + base, index);
#pragma unroll
      for (int j = 0; j < vec_size; j++) {
        results[vec_size * i + j] = f(va.val[j], vb.val[j]);
      }
    }
    vec_t* to_ = reinterpret_cast<vec_t*>(out + base);
#pragma unroll
    for (int i = 0; i < loop_size; i++) {
      int index = thread_idx + i * 64;
      vec_t v;
      for (int j = 0; j < vec_size; j++) {
        v.val[j] = results[vec_size * i + j];
      }
      to_[index] = v;
    }
  }
}
extern "C" __global__ void __launch_bounds__(64) add_alpha(const float* a, const float* b, float* out, int n, float alpha) {
  elementwise_kernel_helper<8>([alpha](float x, float y) -> float { return x + alpha * y; }, a, b, out, n);
}

// ================= CUDA samples: shfl_scan, integral image with uint4
extern "C" __global__ void shfl_scan_test(int* data, int width, int* partial_sums = NULL) {
  extern __shared__ int sums[];
  int id = ((blockIdx.x * blockDim.x) + threadIdx.x);
  int lane_id = id % warpSize;
  // determine a warp_id within a block
  int warp_id = threadIdx.x / warpSize;
  // Below is the basic structure of using a shfl instruction for a scan. Record "value" as a variable - we accumulate it along the way
  int value = data[id];
// Now accumulate in log steps up the chain compute sums, with another thread's value who is distance delta away (i).
#pragma unroll
  for (int i = 1; i <= width; i *= 2) {
    unsigned int mask = 0xffffffff;
    int n = __shfl_up_sync(mask, value, i, width);
    if (lane_id >= i) value += n;
  }
  // value now holds the scan value for the individual thread next sum the largest values for each warp
  // write the sum of the warp to smem
  if (threadIdx.x % warpSize == warpSize - 1) {
    sums[warp_id] = value;
  }
  __syncthreads();
  // scan sum the warp sums the same shfl scan operation, but performed on warp sums
  if (warp_id == 0 && lane_id < (blockDim.x / warpSize)) {
    int warp_sum = sums[lane_id];
    int mask = (1 << (blockDim.x / warpSize)) - 1;
    for (int i = 1; i <= (blockDim.x / warpSize); i *= 2) {
      int n = __shfl_up_sync(mask, warp_sum, i, (blockDim.x / warpSize));
      if (lane_id >= i) warp_sum += n;
    }
    sums[lane_id] = warp_sum;
  }
  __syncthreads();
  // perform a uniform add across warps in the block; read neighbouring warp's sum and add it to threads value
  int blockSum = 0;
  if (warp_id > 0) {
    blockSum = sums[warp_id - 1];
  }
  value += blockSum;
  // Now write out our result
  data[id] = value;
  // last thread has sum, write write out the block's sum
  if (partial_sums != NULL && threadIdx.x == blockDim.x - 1) {
    partial_sums[blockIdx.x] = value;
  }
}
// This function demonstrates some uses of the shuffle: uint4 of packed bytes
extern "C" __global__ void shfl_intimage_rows(const uint4* img, uint4* integral_image) {
  int id = threadIdx.x;
  // pointer to head of current scanline
  const uint4* scanline = &img[blockIdx.x * 32];
  uint4 data;
  data = scanline[id];
  int result[16];
  {
    int sum;
    unsigned int* words[4] = {&data.x, &data.y, &data.z, &data.w};
    sum = 0;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const uchar4 b = *reinterpret_cast<uchar4*>(words[w]);
      result[4 * w] = sum += b.x; result[4 * w + 1] = sum += b.y; result[4 * w + 2] = sum += b.z; result[4 * w + 3] = sum += b.w;
    }
  }
  int sum = result[15];
  int lane_id = id % warpSize;
#pragma unroll
  for (int i = 1; i < 32; i *= 2) {
    unsigned int mask = 0xffffffff;
    int n = __shfl_up_sync(mask, sum, i, 32);
    if (lane_id >= i) {
      sum += n;
#pragma unroll
      for (int k = 0; k < 16; k++) {
        result[k] += n;
      }
    }
  }
  for (int k = 0; k < 4; ++k) {
    integral_image[blockIdx.x * 128 + id * 4 + k] = make_uint4(result[4 * k], result[4 * k + 1], result[4 * k + 2], result[4 * k + 3]);
  }
}

#define WARP_SIZE 32
// ================= llama.cpp: dequantization by a function that a template is given
#define QK4_0 32
#define QR4_0 2
#define QK8_0 32
#define QR8_0 1
#define CUDA_DEQUANTIZE_BLOCK_SIZE 256
typedef float dfloat;
typedef float2 dfloat2;
typedef struct { half d; uint8_t qs[QK4_0 / 2]; } block_q4_0;
typedef struct { half d; int8_t qs[QK8_0]; } block_q8_0;
typedef void (*dequantize_kernel_t)(const void* vx, const int ib, const int iqs, dfloat2& v);
static __device__ __forceinline__ void dequantize_q4_0(const void* vx, const int ib, const int iqs, dfloat2& v) {
  const block_q4_0* x = (const block_q4_0*)vx;
  const dfloat d = x[ib].d;
  const int vui = x[ib].qs[iqs];
  v.x = vui & 0xF;
  v.y = vui >> 4;
  v.x = (v.x - 8.0f) * d;
  v.y = (v.y - 8.0f) * d;
}
static __device__ __forceinline__ void dequantize_q8_0(const void* vx, const int ib, const int iqs, dfloat2& v) {
  const block_q8_0* x = (const block_q8_0*)vx;
  const dfloat d = x[ib].d;
  v.x = x[ib].qs[iqs + 0];
  v.y = x[ib].qs[iqs + 1];
  v.x *= d;
  v.y *= d;
}
template <int qk, int qr, dequantize_kernel_t dequantize_kernel, typename dst_t>
static __device__ void dequantize_block(const void* __restrict__ vx, dst_t* __restrict__ y, const int k) {
  const int i = blockDim.x * blockIdx.x + 2 * threadIdx.x;
  if (i >= k) return;
  const int ib = i / qk;               // block index
  const int iqs = (i % qk) / qr;       // quant index
  const int iybs = i - i % qk;         // y block start index
  const int y_offset = qr == 1 ? 1 : qk / 2;
  // dequantize
  dfloat2 v;
  dequantize_kernel(vx, ib, iqs, v);
  y[iybs + iqs + 0] = v.x;
  y[iybs + iqs + y_offset] = v.y;
}
extern "C" __global__ void dequantize_row_q4_0(const void* vx, half* y, int k) { dequantize_block<QK4_0, QR4_0, dequantize_q4_0>(vx, y, k); }
extern "C" __global__ void dequantize_row_q8_0(const void* vx, float* y, int k) { dequantize_block<QK8_0, QR8_0, dequantize_q8_0>(vx, y, k); }
