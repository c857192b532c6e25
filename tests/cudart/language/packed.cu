// SPDX-License-Identifier: Apache-2.0
// Numbers of 8 bits, functions for dynamic programming, atomic accesses with an order.
#include <cuda_fp8.h>

#include "check.h"

__device__ int flag;

__global__ void run(unsigned* out, float x) {
  int i = 0;
  out[i++] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  out[i++] = __nv_cvt_float_to_fp8(1e6f, __NV_NOSAT, __NV_E5M2);
  const __nv_fp8_e4m3 small(448.0f);
  out[i++] = unsigned(float(small));
  out[i++] = __nv_fp8x4_e4m3(make_float4(1, 2, 3, 4)).__x;
  out[i++] = unsigned(__viaddmax_s32(-5, 3, -1) + 10);
  out[i++] = __vimax3_s16x2(0x00010005u, 0xffff0009u, 0x00030001u);
  out[i++] = __viaddmin_s16x2_relu(0x0001ffffu, 0x00010001u, 0x0007fff0u);
  bool first;
  out[i++] = unsigned(__vibmin_s32(-3, 4, &first) + 3) + first;
#if defined(__NV_ATOMIC_RELAXED) || __CUDACC_VER_MAJOR__ > 12
  __nv_atomic_store_n(&flag, 5, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  out[i++] = unsigned(__nv_atomic_load_n(&flag, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE));
#else
  out[i++] = 5;
#endif
}

int main() {
  Numbers<unsigned, 9> out;
  run<<<1, 1>>>(out.device, -1.5f);
  CHECK_KERNEL();
  const unsigned expected[] = {0xbc, 0x7c, 448, 0x48444038, 9, 0x00030009, 0x00020000, 1, 5};
  for (int i = 0; i < 9; ++i) CHECK(out.read()[i] == expected[i]);
  return 0;
}
