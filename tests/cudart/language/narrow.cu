// SPDX-License-Identifier: Apache-2.0
// bfloat16, and bool as an argument, in arrays, in shared memory and as a parameter of a template.
#include <cuda_bf16.h>

#include "check.h"

template <bool negate>
__global__ void flags(const bool* in, bool* out, bool both) {
  __shared__ bool tile[32];
  const int i = threadIdx.x;
  tile[i] = in[i];
  __syncthreads();
  out[i] = (tile[31 - i] != negate) && both;
}
__global__ void numbers(__nv_bfloat16* v, float* out) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(1.0f, 2.0f);
  v[threadIdx.x] = __hadd(v[threadIdx.x], __float2bfloat16(0.5f));
  out[threadIdx.x] = __bfloat162float(v[threadIdx.x]) + __bfloat162float(pair.y);
}

int main() {
  Numbers<bool, 32> in, out;
  for (int i = 0; i < 32; ++i) in.host[i] = i % 3 == 0;
  CHECK_CALL(cudaMemcpy(in.device, in.host, sizeof(in.host), cudaMemcpyHostToDevice));
  flags<true><<<1, 32>>>(in.device, out.device, true);
  for (int i = 0; i < 32; ++i) CHECK(out.read()[i] == ((31 - i) % 3 != 0));
  flags<false><<<1, 32>>>(in.device, out.device, false);
  CHECK(!out.read()[31]);
  __nv_bfloat16 host[4] = {__float2bfloat16(1.0f), 2.0f, 3.0f, 4.0f};
  __nv_bfloat16* data;
  Numbers<float, 4> floats;
  CHECK_CALL(cudaMalloc((void**)&data, sizeof(host)));
  CHECK_CALL(cudaMemcpy(data, host, sizeof(host), cudaMemcpyHostToDevice));
  numbers<<<1, 4>>>(data, floats.device);
  CHECK_KERNEL();
  CHECK(floats.read()[3] == 6.5f);
  return cudaFree(data);
}
