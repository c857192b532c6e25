// SPDX-License-Identifier: Apache-2.0
// Kernels whose lanes work together: typical ones, and difficult ones for a pass that runs lanes in step.

// One number a warp: nothing but a load, shuffles and a store.
extern "C" __global__ void warp_sums(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? in[i] : 0.0f;
  for (int k = 16; k > 0; k >>= 1) v += __shfl_xor_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) out[i / 32] = v;
}

// A row of a matrix for each warp.
extern "C" __global__ void softmax(const float* in, float* out, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const float* x = in + (size_t)row * columns;
  float* y = out + (size_t)row * columns;
  float most = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < columns; i += 32) most = fmaxf(most, x[i]);
  for (int k = 16; k > 0; k >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, k));
  for (int i = threadIdx.x; i < columns; i += 32) sum += __expf(x[i] - most);
  for (int k = 16; k > 0; k >>= 1) sum += __shfl_xor_sync(~0u, sum, k);
  for (int i = threadIdx.x; i < columns; i += 32) y[i] = __expf(x[i] - most) / sum;
}

// Sums by shuffles in the warps, and then in the first of them.
__device__ float block_sum(float v) {
  __shared__ float part[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? part[lane] : 0.0f;
  if (warp == 0) {
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k);
  }
  return v;
}
extern "C" __global__ void layer_norm(const float* in, float* out, int columns) {
  __shared__ float mean, scale;
  const float* x = in + (size_t)blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) mean = sum / columns;
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (x[i] - mean) * (x[i] - mean);
  squares = block_sum(squares);
  if (threadIdx.x == 0) scale = 1.0f / sqrtf(squares / columns + 1e-5f);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) out[(size_t)blockIdx.x * columns + i] = (x[i] - mean) * scale;
}

extern "C" __global__ void block_sums(const int* in, int* out, int n) {
  __shared__ int part[32];
  int v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  for (int k = 16; k > 0; k >>= 1) v += __shfl_down_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int k = 16; k > 0; k >>= 1) v += __shfl_down_sync(~0u, v, k);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}

extern "C" __global__ void scan(const int* in, int* out, int n) {
  __shared__ int sums[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int v = i < n ? in[i] : 0;
  for (int k = 1; k < 32; k *= 2) {
    const int o = __shfl_up_sync(~0u, v, k);
    if (lane >= k) v += o;
  }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int k = 1; k < 32; k *= 2) {
      const int o = __shfl_up_sync(~0u, s, k);
      if (lane >= k) s += o;
    }
    sums[lane] = s;
  }
  __syncthreads();
  if (warp > 0) v += sums[warp - 1];
  if (i < n) out[i] = v;
}

// Keeps what is odd: a vote, one atomic a warp, and a place for each lane.
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const int v = i < n ? in[i] : 0;
  const unsigned keep = __ballot_sync(~0u, v % 2 != 0);
  int base = 0;
  if (lane == 0) base = atomicAdd(count, __popc(keep));
  base = __shfl_sync(~0u, base, 0);
  if (v % 2 != 0) out[base + __popc(keep & ((1u << lane) - 1))] = v;
}

// The lanes that are here, in branches and in a loop that each leaves on its own.
extern "C" __global__ void who_is_here(int* out) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x, lane = __weir_lane();
  unsigned seen = 0;
  if (lane % 3 == 0) {
    seen = __activemask();
    if (lane > 10) seen ^= __activemask() << 1;
  } else if (lane % 3 == 1) {
    seen = ~__activemask();
  }
  for (int i = 0; i < lane % 5; ++i) seen = seen * 3 + __popc(__activemask());
  out[t] = seen;
}

// Lanes that return early are not waited for.
extern "C" __global__ void early_lanes(const int* in, int* out, int n) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = -1;
  if (t >= n) return;
  int v = in[t];
  v += __shfl_xor_sync(~0u, v, 1);
  s[t] = v;
  __syncthreads();
  out[t] = s[(t + 32) % 128] + v;
}

// A barrier that only some lanes of a warp reach.
extern "C" __global__ void some_lanes_wait(int* out) {
  out[threadIdx.x] = __weir_lane();
  if (threadIdx.x % 32 < 8) __syncthreads();
  out[threadIdx.x] += 1;
  __syncthreads();
}

// A shuffle that names lanes that do not call it.
extern "C" __global__ void absent_lanes(int* out) {
  int v = threadIdx.x;
  if (threadIdx.x % 32 < 8) v = __shfl_xor_sync(~0u, v, 1);
  out[threadIdx.x] = v;
  __syncwarp();
}

// Named lanes alone, any source, 64 bits, and widths.
extern "C" __global__ void shuffles(const int* in, long long* out) {
  const int t = threadIdx.x, lane = t % 32;
  const int from = in[t];
  long long v = (long long)in[t + 1] * 0x100000001ll;
  long long r = __shfl_sync(~0u, v, from);
  r ^= __shfl_down_sync(~0u, v, 3, 8) * 3;
  r ^= __shfl_up_sync(~0u, v, 5, 16) * 5;
  r ^= __shfl_xor_sync(~0u, v, 9, 16) * 7;
  if (lane < 16) r += __shfl_sync(0xffffu, v, lane / 2);
  r += __weir_ballot(0xffull << (lane & 24), in[t] & 1);
  out[t] = r;
}

// Lockstep without a word about it: the last warp of an old reduction.
extern "C" __global__ void last_warp(const int* in, int* out) {
  __shared__ volatile int s[256];
  const int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int k = 128; k > 32; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

// Private arrays, divisions that only some lanes make, and atomics that lanes of a warp meet in.
extern "C" __global__ void odds_and_ends(const int* in, int* out, int* bins) {
  __shared__ int counts[8];
  const int t = threadIdx.x;
  int a[6];
  for (int i = 0; i < 6; ++i) a[i] = in[t + i];
  if (t < 8) counts[t] = 0;
  __syncthreads();
  atomicAdd(&counts[in[t] & 7], 1);
  int r = a[in[t] % 6];
  if (in[t + 1] % 4 != 0) r += in[t] / (in[t + 1] % 4);
  switch (in[t] % 5) {
    case 0: r *= 3; break;
    case 1: r -= 7;
    case 2: r ^= 0x55; break;
    default: r = -r;
  }
  r += __shfl_xor_sync(~0u, r, 1);
  __syncthreads();
  if (t < 8) atomicAdd(&bins[t], counts[t]);
  out[t] = r + counts[t & 7];
}

// The length of a sequence, for each lane another; the index is not in the lane's place.
extern "C" __global__ void sequences(const int* start, int* out, int n) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 3;
  if (i >= n) return;
  int steps = 0;
  unsigned v = start[i];
  while (v != 1) {
    if (v % 2 == 0) {
      v /= 2;
    } else {
      v = 3 * v + 1;
      if (steps > 90) break;
    }
    ++steps;
  }
  out[i] = steps + __popc(__ballot_sync(__activemask(), steps > 20));
}

// Lanes call different functions, and count in a loop that they leave one by one.
__device__ int doubled(int v) { return 2 * v; }
__device__ int negated(int v) { return -v; }
__device__ int squared(int v) { return v * v; }
extern "C" __global__ void calls_and_counts(const int* in, int* out, int* bins, int n) {
  int (*const calls[3])(int) = {doubled, negated, squared};
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[i] & 7], 1);
  const int r = calls[in[threadIdx.x] % 3](in[threadIdx.x + 1]);
  out[threadIdx.x] = r + __shfl_xor_sync(~0u, r, 1);
}
