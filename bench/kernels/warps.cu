// SPDX-License-Identifier: Apache-2.0
// Kernels whose warps cooperate through shuffles and votes.

__device__ float warp_sum(float value) {
  for (int k = 16; k > 0; k /= 2) value += __shfl_xor_sync(0xffffffffu, value, k);
  return value;
}

// Computes the sum of each warp's elements.
extern "C" __global__ void warp_sums(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = warp_sum(i < n ? in[i] : 0);
  if (threadIdx.x % 32 == 0) out[i / 32] = sum;
}

// Computes partial sums by a few blocks, whose threads stride through all elements.
extern "C" __global__ void strided_sum(const float* in, float* out, int n) {
  __shared__ float sums[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warp_sum(threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

// Computes the inclusive prefix sums of each block's elements.
extern "C" __global__ void shuffle_scan(const float* in, float* out) {
  __shared__ float sums[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  for (int d = 1; d < 32; d *= 2) {
    const float before = __shfl_up_sync(0xffffffffu, value, d);
    if (lane >= d) value += before;
  }
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    float sum = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int d = 1; d < 32; d *= 2) {
      const float before = __shfl_up_sync(0xffffffffu, sum, d);
      if (lane >= d) sum += before;
    }
    sums[lane] = sum;
  }
  __syncthreads();
  out[i] = warp > 0 ? value + sums[warp - 1] : value;
}

// Computes one row per warp.
extern "C" __global__ void warp_softmax(const float* in, float* out, int columns) {
  const int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const float* x = in + row * columns;
  float greatest = -1e30f;
  for (int c = lane; c < columns; c += 32) greatest = fmaxf(greatest, x[c]);
  for (int k = 16; k > 0; k /= 2) greatest = fmaxf(greatest, __shfl_xor_sync(0xffffffffu, greatest, k));
  float sum = 0;
  for (int c = lane; c < columns; c += 32) sum += expf(x[c] - greatest);
  const float scale = 1 / warp_sum(sum);
  for (int c = lane; c < columns; c += 32) out[row * columns + c] = expf(x[c] - greatest) * scale;
}

// Moves each warp's positive elements to the start of the warp's range.
extern "C" __global__ void compaction(const float* in, float* out, int* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  const float value = i < n ? in[i] : 0;
  const unsigned int chosen = __ballot_sync(0xffffffffu, value > 0);
  if (value > 0) out[i - lane + __popc(chosen & ((1u << lane) - 1))] = value;
  if (lane == 0) counts[i / 32] = __popc(chosen);
}
