// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of PyTorch: functors, Welford's algorithm, Philox.
#include <stdint.h>

#define C10_DEVICE __device__
#define C10_WARP_SIZE 32
#define FULL_MASK 0xffffffff

template <typename T>
__device__ __forceinline__ T WARP_SHFL_DOWN(T value, unsigned int delta, int width = C10_WARP_SIZE, unsigned int mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, delta, width);
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
