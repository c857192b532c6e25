// SPDX-License-Identifier: Apache-2.0
// Half precision: arithmetic and conversions in kernels and in host code, pairs, atomics, arrays in shared memory.
#include <cuda_fp16.h>

#include "check.h"

__global__ void axpy(__half* y, const __half* x, float a, int n) {
  __shared__ half tile[64];
  const int i = threadIdx.x;
  tile[i] = x[i];
  __syncthreads();
  if (i < n) y[i] = __hadd(y[i], __hmul(__float2half(a), tile[i]));
}
__global__ void pairs(half2* v, half* sum) {
  const half2 two = __float2half2_rn(2.0f);
  v[threadIdx.x] = __hfma2(v[threadIdx.x], two, make_half2(1.0f, 0.5f));
  atomicAdd(sum, __low2half(v[threadIdx.x]));
  if (__hgt(v[threadIdx.x].x, __float2half(1e4f))) *sum = hsqrt(*sum);
}

int main() {
  static_assert(sizeof(half) == 2 && sizeof(half2) == 4, "as in CUDA");
  half host[64];
  for (int i = 0; i < 64; ++i) host[i] = __float2half(i * 0.5f);
  CHECK(__half2float(host[3]) == 1.5f && float(half(0.1f)) != 0.1f);
  half *x, *y;
  CHECK_CALL(cudaMalloc((void**)&x, sizeof(host)));
  CHECK_CALL(cudaMalloc((void**)&y, sizeof(host)));
  CHECK_CALL(cudaMemcpy(x, host, sizeof(host), cudaMemcpyHostToDevice));
  CHECK_CALL(cudaMemcpy(y, host, sizeof(host), cudaMemcpyHostToDevice));
  axpy<<<1, 64>>>(y, x, 3.0f, 64);
  CHECK_CALL(cudaMemcpy(host, y, sizeof(host), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) CHECK(__half2float(host[i]) == i * 2.0f);
  CHECK_CALL(cudaMemset(x, 0, sizeof(half)));
  pairs<<<1, 8>>>((half2*)y, x);
  CHECK_CALL(cudaMemcpy(host, x, sizeof(half), cudaMemcpyDeviceToHost));
  CHECK(__half2float(host[0]) == 232.0f);
  CHECK_KERNEL();
  return 0;
}
