// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of PyTorch: functors, Welford's algorithm, block reductions by templates, radix selection.
#include <stdint.h>
#include <float.h>

#define C10_DEVICE __device__
#define C10_WARP_SIZE 32
#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define FULL_MASK 0xffffffff

template <typename T>
__device__ __forceinline__ T WARP_SHFL_DOWN(T value, unsigned int delta, int width = C10_WARP_SIZE, unsigned int mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, delta, width);
}

template <typename T>
__inline__ __device__ T WarpReduceSum(T val) {
#pragma unroll
  for (int offset = (C10_WARP_SIZE >> 1); offset > 0; offset >>= 1) {
    val += WARP_SHFL_DOWN(val, offset);
  }
  return val;
}

template <typename T>
__inline__ __device__ T BlockReduceSum(T val, T* shared) {
  const int tid = threadIdx.x;
  const int lid = tid % C10_WARP_SIZE;
  const int wid = tid / C10_WARP_SIZE;
  val = WarpReduceSum(val);
  __syncthreads();  // prevent races when BlockReduces are called in a row.
  if (lid == 0) {
    shared[wid] = val;
  }
  __syncthreads();
  val = (tid < blockDim.x / C10_WARP_SIZE) ? shared[lid] : T(0);
  if (wid == 0) {
    val = WarpReduceSum(val);
  }
  return val;
}

struct WelfordData {
  float mean;
  float m2;
  float count;
};
struct WelfordOps {
  static C10_DEVICE WelfordData combine(WelfordData a, WelfordData b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    float delta = b.mean - a.mean;
    float count = a.count + b.count;
    float nb_over_n = b.count / count;
    return {a.mean + delta * nb_over_n, a.m2 + b.m2 + delta * delta * a.count * nb_over_n, count};
  }
  static C10_DEVICE WelfordData reduce(WelfordData acc, float data) {
    float delta = data - acc.mean;
    float count = acc.count + 1;
    float mean = acc.mean + delta / count;
    return {mean, acc.m2 + delta * (data - mean), count};
  }
};

// Layer norm: a block a row, vectors of four, Welford's numbers combined over warps.
extern "C" __global__ void vectorized_layer_norm(const int N, float eps, const float* __restrict__ X, const float* gamma, const float* beta, float* mean, float* rstd, float* Y) {
  extern __shared__ float s_data[];
  auto i1 = blockIdx.x;
  const float* block_row = X + i1 * N;
  const float4* X_vec = reinterpret_cast<const float4*>(block_row);
  WelfordData wd{0.f, 0.f, 0.f};
  const int numx = blockDim.x * blockDim.y;
  const int thrx = threadIdx.x + threadIdx.y * blockDim.x;
  const int n_vec_to_read = N / 4;
  for (int i = thrx; i < n_vec_to_read; i += numx) {
    float4 data = X_vec[i];
    wd = WelfordOps::reduce(wd, data.x);
    wd = WelfordOps::reduce(wd, data.y);
    wd = WelfordOps::reduce(wd, data.z);
    wd = WelfordOps::reduce(wd, data.w);
  }
  for (int offset = (C10_WARP_SIZE >> 1); offset > 0; offset >>= 1) {
    WelfordData wdB{WARP_SHFL_DOWN(wd.mean, offset), WARP_SHFL_DOWN(wd.m2, offset), WARP_SHFL_DOWN(wd.count, offset)};
    wd = WelfordOps::combine(wd, wdB);
  }
  if (blockDim.y > 1) {
    float* meansigmabuf = s_data;
    float* countbuf = &s_data[blockDim.y];
    for (int offset = blockDim.y / 2; offset > 0; offset /= 2) {
      if (threadIdx.x == 0 && threadIdx.y >= offset && threadIdx.y < 2 * offset) {
        const int wrt_y = threadIdx.y - offset;
        meansigmabuf[2 * wrt_y] = wd.mean;
        meansigmabuf[2 * wrt_y + 1] = wd.m2;
        countbuf[wrt_y] = wd.count;
      }
      __syncthreads();
      if (threadIdx.x == 0 && threadIdx.y < offset) {
        WelfordData wdB{meansigmabuf[2 * threadIdx.y], meansigmabuf[2 * threadIdx.y + 1], countbuf[threadIdx.y]};
        wd = WelfordOps::combine(wd, wdB);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0 && threadIdx.y == 0) {
      meansigmabuf[0] = wd.mean;
      meansigmabuf[1] = wd.m2 / float(N);
    }
    __syncthreads();
    wd.mean = meansigmabuf[0];
    wd.m2 = meansigmabuf[1];
  } else {
    wd.mean = __shfl_sync(FULL_MASK, wd.mean, 0);
    wd.m2 = __shfl_sync(FULL_MASK, wd.m2, 0) / float(N);
  }
  float rstd_val = rsqrtf(wd.m2 + eps);
  for (int i = thrx; i < n_vec_to_read; i += numx) {
    float4 data = X_vec[i];
    float4 g = reinterpret_cast<const float4*>(gamma)[i], b = reinterpret_cast<const float4*>(beta)[i];
    float4 out = make_float4(g.x * (rstd_val * (data.x - wd.mean)) + b.x, g.y * (rstd_val * (data.y - wd.mean)) + b.y,
                             g.z * (rstd_val * (data.z - wd.mean)) + b.z, g.w * (rstd_val * (data.w - wd.mean)) + b.w);
    reinterpret_cast<float4*>(Y + i1 * N)[i] = out;
  }
  if (thrx == 0) {
    mean[i1] = wd.mean;
    rstd[i1] = rstd_val;
  }
}

// The loss of a row of logits, by block reductions.
extern "C" __global__ void cross_entropy(const float* logits, const int64_t* target, float* loss, int classes) {
  __shared__ float shared[C10_WARP_SIZE];
  __shared__ float row_max, row_sum;
  const float* row = logits + blockIdx.x * classes;
  float thread_max = -FLT_MAX;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) thread_max = ::max(thread_max, row[c]);
  for (int offset = 16; offset > 0; offset >>= 1) thread_max = ::max(thread_max, WARP_SHFL_DOWN(thread_max, offset));
  if (threadIdx.x % C10_WARP_SIZE == 0) shared[threadIdx.x / C10_WARP_SIZE] = thread_max;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / C10_WARP_SIZE; ++w) thread_max = ::max(thread_max, shared[w]);
    row_max = thread_max;
  }
  __syncthreads();
  float sum = 0;
  for (int c = threadIdx.x; c < classes; c += blockDim.x) sum += expf(row[c] - row_max);
  sum = BlockReduceSum<float>(sum, shared);
  if (threadIdx.x == 0) row_sum = sum;
  __syncthreads();
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(row_sum) + row_max - row[target[blockIdx.x]];
}

template <typename scalar_t>
struct TopKTypeConfig {};
template <>
struct TopKTypeConfig<float> {
  typedef uint32_t RadixType;
  static inline __device__ RadixType convert(float v) {
    RadixType x = __float_as_int(v);
    RadixType mask = (x & 0x80000000) ? 0xffffffff : 0x80000000;
    return (v == v) ? (x ^ mask) : 0xffffffff;
  }
  static inline __device__ float deconvert(RadixType v) {
    RadixType mask = (v & 0x80000000) ? 0x80000000 : 0xffffffff;
    return __int_as_float(v ^ mask);
  }
};

constexpr int RADIX_BITS = 2;
constexpr int RADIX_SIZE = 4;
constexpr int RADIX_MASK = (RADIX_SIZE - 1);

// How many numbers that match what is desired have each digit.
template <typename bitwise_t>
__device__ void countRadixUsingMask(int counts[RADIX_SIZE], int* smem, bitwise_t desired, bitwise_t desiredMask, int radixDigitPos, int sliceSize, const float* data) {
#pragma unroll
  for (int i = 0; i < RADIX_SIZE; ++i) {
    counts[i] = 0;
  }
  if (threadIdx.x < RADIX_SIZE) {
    smem[threadIdx.x] = 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < sliceSize; i += blockDim.x) {
    bitwise_t val = TopKTypeConfig<float>::convert(data[i]);
    bool hasVal = ((val & desiredMask) == desired);
    bitwise_t digitInRadix = (val >> radixDigitPos) & RADIX_MASK;
#pragma unroll
    for (uint32_t j = 0; j < RADIX_SIZE; ++j) {
      bool vote = hasVal && (digitInRadix == j);
      counts[j] += vote;
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < RADIX_SIZE; ++i) {
    atomicAdd(&smem[i], counts[i]);
  }
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < RADIX_SIZE; ++i) {
    counts[i] = smem[i];
  }
  __syncthreads();
}

// The k-th greatest number of a slice, found bit by bit; then all that are greater.
extern "C" __global__ void gather_topk(const float* input, int sliceSize, int k, float* topK, int* indices) {
  __shared__ int smem[C10_WARP_SIZE];
  const float* data = input + blockIdx.x * sliceSize;
  int counts[RADIX_SIZE];
  uint32_t desired = 0;
  uint32_t desiredMask = 0;
  int kToFind = k;
  for (int digitPos = sizeof(float) * 8 - RADIX_BITS; digitPos >= 0; digitPos -= RADIX_BITS) {
    countRadixUsingMask<uint32_t>(counts, smem, desired, desiredMask, digitPos, sliceSize, data);
    for (int i = RADIX_SIZE - 1; i >= 0; --i) {
      int count = counts[i];
      if (count >= kToFind) {
        desired = (desired & ~(uint32_t(RADIX_MASK) << digitPos)) | (uint32_t(i) << digitPos);
        desiredMask |= uint32_t(RADIX_MASK) << digitPos;
        break;
      }
      kToFind -= count;
    }
  }
  const float topKValue = TopKTypeConfig<float>::deconvert(desired);
  __shared__ int write;
  if (threadIdx.x == 0) write = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < sliceSize; i += blockDim.x) {
    if (data[i] > topKValue) {
      int at = atomicAdd(&write, 1);
      topK[blockIdx.x * k + at] = data[i];
      indices[blockIdx.x * k + at] = i;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < sliceSize; i += blockDim.x) {
    if (data[i] == topKValue) {
      int at = atomicAdd(&write, 1);
      if (at < k) {
        topK[blockIdx.x * k + at] = data[i];
        indices[blockIdx.x * k + at] = i;
      }
    }
  }
}

// Philox, ten rounds, as cuRAND's; dropout by it.
class Philox {
 public:
  __device__ inline Philox(unsigned long long seed, unsigned long long subsequence) {
    key.x = (unsigned int)seed;
    key.y = (unsigned int)(seed >> 32);
    counter = make_uint4(0, 0, 0, 0);
    counter.z = (unsigned int)(subsequence);
    counter.w = (unsigned int)(subsequence >> 32);
  }
  __device__ inline uint4 operator()() {
    uint4 counter_ = counter;
    uint2 key_ = key;
    for (int i = 0; i < 9; i++) {
      counter_ = single_round(counter_, key_);
      key_.x += kPhilox10A;
      key_.y += kPhilox10B;
    }
    return single_round(counter_, key_);
  }

 private:
  uint4 counter;
  uint2 key;
  __device__ unsigned int mulhilo32(unsigned int a, unsigned int b, unsigned int* result_high) {
    *result_high = __umulhi(a, b);
    return a * b;
  }
  __device__ inline uint4 single_round(uint4 ctr, uint2 key) {
    unsigned int hi0;
    unsigned int hi1;
    unsigned int lo0 = mulhilo32(kPhiloxSA, ctr.x, &hi0);
    unsigned int lo1 = mulhilo32(kPhiloxSB, ctr.z, &hi1);
    uint4 ret = {hi1 ^ ctr.y ^ key.x, lo1, hi0 ^ ctr.w ^ key.y, lo0};
    return ret;
  }
  static const unsigned int kPhilox10A = 0x9E3779B9;
  static const unsigned int kPhilox10B = 0xBB67AE85;
  static const unsigned int kPhiloxSA = 0xD2511F53;
  static const unsigned int kPhiloxSB = 0xCD9E8D57;
};
extern "C" __global__ void fused_dropout(const float* a, float* b, uint8_t* c, int n, float p, unsigned long long seed) {
  float pinv = 1.f / p;
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  Philox philox(seed, idx);
  for (int linear = idx * 4; linear < n; linear += gridDim.x * blockDim.x * 4) {
    uint4 r = philox();
    float4 rand = make_float4(r.x * 2.3283064e-10f, r.y * 2.3283064e-10f, r.z * 2.3283064e-10f, r.w * 2.3283064e-10f);
    float values[4] = {rand.x, rand.y, rand.z, rand.w};
    for (int ii = 0; ii < 4; ii++) {
      if (linear + ii < n) {
        const bool kept = values[ii] < p;
        b[linear + ii] = a[linear + ii] * kept * pinv;
        c[linear + ii] = (uint8_t)kept;
      }
    }
  }
}

// Elementwise, by a functor and a loop over what a thread owns.
template <typename func_t, int vt>
__device__ void elementwise(int N, func_t f) {
  const int tid = threadIdx.x;
  const int nv = blockDim.x * vt;
  int idx = nv * blockIdx.x + tid;
#pragma unroll
  for (int i = 0; i < vt; i++) {
    if (idx < N) {
      f(idx);
      idx += blockDim.x;
    }
  }
}
extern "C" __global__ void addcmul(int N, const float* a, const float* b, const float* c, float* out, float value) {
  auto f = [=](int idx) { out[idx] = a[idx] + value * b[idx] * c[idx]; };
  elementwise<decltype(f), 4>(N, f);
}

extern "C" __global__ void embedding_bag_sum(const float* weight, const int64_t* indices, const int64_t* offsets, float* output, int featureSize, int bags) {
  for (int64_t chunk = blockIdx.x * blockDim.y + threadIdx.y; chunk < bags; chunk += gridDim.x * blockDim.y) {
    for (int64_t featureDim = threadIdx.x; featureDim < featureSize; featureDim += blockDim.x) {
      const float* weightFeat = weight + featureDim;
      float weightFeatSum = 0;
      for (int64_t emb = offsets[chunk]; emb < offsets[chunk + 1]; emb++) weightFeatSum += weightFeat[indices[emb] * featureSize];
      output[chunk * featureSize + featureDim] = weightFeatSum;
    }
  }
}

extern "C" __global__ void max_pool_2d(int nthreads, const float* bottom, int height, int width, int pooled_h, int pooled_w, int kernel, int stride, int pad, float* top, int* mask) {
  CUDA_KERNEL_LOOP(index, nthreads) {
    const int pw = index % pooled_w, ph = (index / pooled_w) % pooled_h, c = index / pooled_w / pooled_h;
    int hstart = ph * stride - pad, wstart = pw * stride - pad;
    const int hend = min(hstart + kernel, height), wend = min(wstart + kernel, width);
    while (hstart < 0) ++hstart;
    while (wstart < 0) ++wstart;
    float maxval = -INFINITY;
    int maxidx = hstart * width + wstart;
    const float* plane = bottom + c * height * width;
    for (int h = hstart; h < hend; ++h) {
      for (int w = wstart; w < wend; ++w) {
        const float val = plane[h * width + w];
        if ((val > maxval) || isnan(val)) {
          maxidx = h * width + w;
          maxval = val;
        }
      }
    }
    top[index] = maxval;
    mask[index] = maxidx;
  }
}
