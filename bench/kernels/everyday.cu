// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of real programs: pointers with __restrict__, guards with several comparisons, loops of a block or a
// warp over a row. The benchmark compiles them with RESTRICT as defined here, and with an empty RESTRICT.
#ifndef RESTRICT
#define RESTRICT __restrict__
#endif

extern "C" __global__ void guarded_saxpy(int n, float a, const float* RESTRICT x, float* RESTRICT y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void returning_saxpy(int n, float a, const float* RESTRICT x, float* RESTRICT y) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = a * x[i] + y[i];
}

extern "C" __global__ void strided_saxpy(int n, float a, const float* RESTRICT x, float* RESTRICT y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

__device__ void saxpy_at(int i, float a, const float* RESTRICT x, float* RESTRICT y) { y[i] = a * x[i] + y[i]; }
extern "C" __global__ void calling_saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) saxpy_at(i, a, x, y);
}

extern "C" __global__ void sigmoid(const float* RESTRICT in, float* RESTRICT out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.0f / (1.0f + expf(-in[i]));
}

extern "C" __global__ void image_and(const float* RESTRICT in, float* RESTRICT out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = 0.5f * in[y * width + x] + 1;
}

extern "C" __global__ void image_or(const float* RESTRICT in, float* RESTRICT out, int width, int height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[y * width + x] = 0.5f * in[y * width + x] + 1;
}

extern "C" __global__ void image_nested(const float* RESTRICT in, float* RESTRICT out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y < height) {
    if (x < width) out[y * width + x] = 0.5f * in[y * width + x] + 1;
  }
}

// Computes the inner cells, which have four neighbours.
extern "C" __global__ void inner_stencil(const float* RESTRICT in, float* RESTRICT out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * width + x;
  if (x > 0 && x < width - 1 && y > 0 && y < height - 1)
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

__device__ float sum_of_warp(float value) {
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}
__device__ float sum_of_all(float value) {
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}
__device__ float greatest_of_all(float value) {
  for (int offset = 16; offset > 0; offset >>= 1) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

// Computes the sum of each block's elements.
extern "C" __global__ void down_sum(const float* RESTRICT in, float* RESTRICT out, int n) {
  __shared__ float sums[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float value = sum_of_warp(i < n ? in[i] : 0.0f);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = sum_of_warp(lane < blockDim.x / 32 ? sums[lane] : 0.0f);
    if (lane == 0) out[blockIdx.x] = value;
  }
}

// Computes partial sums by a few blocks, whose threads stride through all elements.
extern "C" __global__ void strided_down_sum(const float* RESTRICT in, float* RESTRICT out, int n) {
  __shared__ float sums[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) value += in[i];
  value = sum_of_warp(value);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    value = sum_of_warp(lane < blockDim.x / 32 ? sums[lane] : 0.0f);
    if (lane == 0) out[blockIdx.x] = value;
  }
}

// Computes one row per warp.
extern "C" __global__ void row_softmax(const float* RESTRICT in, float* RESTRICT out, int rows, int columns) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float greatest = -INFINITY, sum = 0;
  for (int c = lane; c < columns; c += 32) greatest = fmaxf(greatest, in[row * columns + c]);
  greatest = greatest_of_all(greatest);
  for (int c = lane; c < columns; c += 32) sum += expf(in[row * columns + c] - greatest);
  sum = sum_of_all(sum);
  for (int c = lane; c < columns; c += 32) out[row * columns + c] = expf(in[row * columns + c] - greatest) / sum;
}

__device__ float sum_of_block(float value) {
  __shared__ float sums[32];
  value = sum_of_all(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = sum_of_all(threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0.0f);
  __syncthreads();
  return value;
}

// Computes one row per block.
extern "C" __global__ void block_layer_norm(const float* RESTRICT in, const float* RESTRICT weight,
                                            const float* RESTRICT bias, float* RESTRICT out, int columns) {
  const float* x = in + blockIdx.x * columns;
  float* y = out + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += x[c];
  const float mean = sum_of_block(sum) / columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    const float d = x[c] - mean;
    squares += d * d;
  }
  const float scale = rsqrtf(sum_of_block(squares) / columns + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += blockDim.x) y[c] = (x[c] - mean) * scale * weight[c] + bias[c];
}
