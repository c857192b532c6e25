// SPDX-License-Identifier: Apache-2.0
// Half precision and bfloat16, with CUDA's headers and with HIP's.
#include <cuda_fp16.h>
#include <hip/hip_bf16.h>

extern "C" __global__ void half_axpy(int n, float a, const __half2* __restrict__ x, __half2* __restrict__ y) {
  const __half2 a2 = __float2half2_rn(a);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = __hfma2(a2, x[i], y[i]);
}

// A product in tiles that lie in shared memory as halves.
#define TILE 16
extern "C" __global__ void half_product(const __half* a, const __half* b, __half* c, int n) {
  __shared__ __half as[TILE][TILE], bs[TILE][TILE + 2];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < n; t += TILE) {
    as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; ++k) sum += __half2float(as[threadIdx.y][k]) * __half2float(bs[k][threadIdx.x]);
    __syncthreads();
  }
  c[row * n + column] = __float2half(sum);
}

// Every operation on its own: out[k * n + i] is operation k.
extern "C" __global__ void half_operations(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half a = __float2half(in[i]), b = __float2half_rn(in[n - 1 - i]);
  const __half2 both = __halves2half2(a, b), swapped = __floats2half2_rn(__half2float(b), __half2float(a));
  out[i] = __half2float(a);
  out[n + i] = __half2float(__hadd(a, b));
  out[2 * n + i] = __half2float(a - b);
  out[3 * n + i] = __half2float(a * b);
  out[4 * n + i] = __half2float(__hdiv(a, b));
  out[5 * n + i] = __half2float(hexp(a));
  out[6 * n + i] = __half2float(hsqrt(__habs(a)));
  out[7 * n + i] = __low2float(__hadd2(both, swapped)) - __high2float(__hmul2(both, swapped));
  out[8 * n + i] = (__hlt(a, b) ? 1 : 0) + (a >= b ? 2 : 0) + (__heq(a, a) ? 4 : 0) + (__hisnan(a) ? 8 : 0);
  out[9 * n + i] = __half2int_rn(a) + __half2float(__int2half_rn(3));
  out[10 * n + i] = __half_as_ushort(__hneg(a)) ^ __half_as_ushort(a);
  out[11 * n + i] = __half2float(__ushort_as_half(__half_as_ushort(b)));
}

extern "C" __global__ void bfloat_operations(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat16 a = __float2bfloat16(in[i]), b = __float2bfloat16_rn(in[n - 1 - i]);
  const __nv_bfloat162 both = __floats2bfloat162_rn(in[i], in[n - 1 - i]);
  out[i] = __bfloat162float(a);
  out[n + i] = __bfloat162float(__hadd(a, b));
  out[2 * n + i] = __bfloat162float(a - b);
  out[3 * n + i] = __bfloat162float(a * b);
  out[4 * n + i] = __bfloat162float(__hfma(a, b, a));
  out[5 * n + i] = __low2float(both) + __high2float(both);
  out[6 * n + i] = (a < b ? 1 : 0) + (__hge(a, b) ? 2 : 0);
}

// Softmax of a row in bfloat16, sums in float.
extern "C" __global__ void bfloat_softmax(const __nv_bfloat16* in, __nv_bfloat16* out, int columns) {
  extern __shared__ float row[];
  __shared__ float reduced[32];
  const __nv_bfloat16* x = in + blockIdx.x * columns;
  float greatest = -3.0e38f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    row[c] = __bfloat162float(x[c]);
    greatest = fmaxf(greatest, row[c]);
  }
  if (threadIdx.x < 32) reduced[threadIdx.x] = -3.0e38f;
  __syncthreads();
  for (int turn = 0; turn < blockDim.x / 32; ++turn) {
    if (threadIdx.x / 32 == turn) reduced[threadIdx.x % 32] = fmaxf(reduced[threadIdx.x % 32], greatest);
    __syncthreads();
  }
  for (int k = 0; k < 32; ++k) greatest = fmaxf(greatest, reduced[k]);
  __syncthreads();
  if (threadIdx.x < 32) reduced[threadIdx.x] = 0.f;
  __syncthreads();
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += row[c] = expf(row[c] - greatest);
  atomicAdd(&reduced[threadIdx.x % 32], sum);
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 32; ++k) sum += reduced[k];
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = __float2bfloat16(row[c] / sum);
}
