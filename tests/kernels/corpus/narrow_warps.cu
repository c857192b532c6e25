// SPDX-License-Identifier: Apache-2.0
// Kernels that were written for warps of 32 threads, with masks of 32 bits.

// A warp a row, by x; rows by y.
extern "C" __global__ void layer_norm(const float* in, const float* gamma, const float* beta, float* out, int rows, int columns) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < columns; c += 32) {
    float v = in[row * columns + c];
    sum += v;
    squares += v * v;
  }
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) {
    sum += __shfl_xor_sync(0xffffffff, sum, m);
    squares += __shfl_xor_sync(0xffffffff, squares, m);
  }
  float mean = sum / columns;
  float scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += 32) out[row * columns + c] = (in[row * columns + c] - mean) * scale * gamma[c] + beta[c];
}
