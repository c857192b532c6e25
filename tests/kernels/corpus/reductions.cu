// SPDX-License-Identifier: Apache-2.0
// Sums in shared memory with halving strides.
extern "C" __global__ void sum_halving(const float* in, float* out, int n) {
  extern __shared__ float s[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
    if (tid < k) s[tid] += s[tid + k];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

__inline__ __device__ float warp_sum(float v) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffffffffffull, v, offset);
  return v;
}

__inline__ __device__ float block_sum(float v) {
  static __shared__ float partial[32];
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_sum(v);
  __syncthreads();
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = threadIdx.x < (blockDim.x + warpSize - 1) / warpSize ? partial[lane] : 0.0f;
  if (warp == 0) v = warp_sum(v);
  return v;
}

extern "C" __global__ void sum_by_warps(const float* in, float* out, int n = 0) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  float total = block_sum(v);
  if (threadIdx.x == 0) atomicAdd(out, total);
}

// Twice in one kernel: the shared memory of the function is one.
extern "C" __global__ void mean_and_variance(const float* in, float* out, int n) {
  float v = threadIdx.x < n ? in[blockIdx.x * n + threadIdx.x] : 0.0f;
  __shared__ float mean;
  float total = block_sum(v);
  if (threadIdx.x == 0) mean = total / n;
  __syncthreads();
  float d = threadIdx.x < n ? v - mean : 0.0f;
  float squares = block_sum(d * d);
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = mean;
    out[2 * blockIdx.x + 1] = squares / n;
  }
}

// The least number and where it is: a struct in shared memory.
struct Least { float value; int index; };
__device__ Least better(Least a, Least b) { return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a; }
extern "C" __global__ void arg_min(const float* in, Least* out, int n) {
  __shared__ Least s[64];
  Least mine = {1e30f, -1};
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine = better(mine, Least{in[i], i});
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int k = 32; k > 0; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] = better(s[threadIdx.x], s[threadIdx.x + k]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = s[0];
}

// The last block to arrive adds up what the others left.
__device__ unsigned int arrived = 0;
extern "C" __global__ void sum_in_one_launch(const float* in, volatile float* parts, float* out, int n) {
  __shared__ float s[64];
  __shared__ bool last;
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned k = 32; k > 0; k >>= 1) {
    if (tid < k) s[tid] += s[tid + k];
    __syncthreads();
  }
  if (tid == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    float v = 0;
    for (unsigned b = tid; b < gridDim.x; b += blockDim.x) v += parts[b];
    s[tid] = v;
    __syncthreads();
    for (unsigned k = 32; k > 0; k >>= 1) {
      if (tid < k) s[tid] += s[tid + k];
      __syncthreads();
    }
    if (tid == 0) {
      *out = s[0];
      arrived = 0;
    }
  }
}
