// SPDX-License-Identifier: Apache-2.0
// Functions of CUDA's for bits, conversions, roundings and packed numbers.
#include <math_constants.h>

#include "check.h"

__global__ void run(long long* out, int x, float f, double d) {
  int i = 0;
  out[i++] = __popc(0xf0f0u + x) + __popcll(~0ull);
  out[i++] = __clz(x) + __clzll(1) + __ffs(8) + __ffsll(1LL << 40);
  out[i++] = __brev(1u);
  out[i++] = __byte_perm(0x33221100u, 0x77665544u, 0x7531u);
  out[i++] = __mul24(x, 3) + __umul24(5u, 5u) + __mulhi(1 << 30, 8) + (long long)__umul64hi(1ull << 63, 4);
  out[i++] = __float_as_int(f) + __double_as_longlong(d);
  out[i++] = __float2int_rn(2.5f) + __float2int_rz(-2.7f) + __float2int_ru(2.1f) + __double2int_rd(-2.1);
  out[i++] = __double2hiint(d) + __double2loint(d);
  out[i++] = (long long)(__int_as_float(0x40000000) + __hiloint2double(0x40080000, 0));
  out[i++] = __float2int_rd(1e20f) == 2147483647 && __float2uint_rz(-1.0f) == 0;
  out[i++] = __vadd4(0x01ff0304u, 0x01010101u);
  out[i++] = __dp4a(0x01020304, 0x01010101, 5) + __sad(3, -4, 1u) + __funnelshift_l(0x80000000u, 1u, 1u);
  out[i++] = __fadd_rd(1.0f, 1e-10f) == 1.0f && __fadd_ru(1.0f, 1e-10f) > 1.0f && __fdividef(6.0f, 3.0f) == 2.0f;
  out[i++] = CUDART_INF_F > 1e38f && isnan(CUDART_NAN) && isnan(nan("")) && isnan(nanf("")) && CUDART_PI > 3.14;
  out[i++] = (long long)__ldg(&out[0]) - out[0] + (__saturatef(3.0f) == 1.0f) + (__expf(0.0f) == 1.0f);
  out[i++] = clock64() >= 0 && clock() != -1;
  out[i++] = rintf(2.5f) == 2 && __fsqrt_rn(9.0f) == 3 && __frcp_rn(4.0f) == 0.25f && __dmul_rn(2, 3) == 6;
}

int main() {
  Numbers<long long, 17> out;
  run<<<1, 1>>>(out.device, 15, 1.0f, 1.0);
  CHECK_KERNEL();
  const long long expected[] = {12 + 64,
                                28 + 63 + 4 + 41,
                                0x80000000ll,
                                0x77553311,
                                45 + 25 + 2 + 2,
                                0x3f800000 + 0x3ff0000000000000ll,
                                2 - 2 + 3 - 3,
                                0x3ff00000,
                                5,
                                1,
                                0x02000405ll,
                                10 + 5 + 8 + 3,
                                1,
                                1,
                                2,
                                1,
                                1};
  for (int i = 0; i < 17; ++i) CHECK(out.read()[i] == expected[i]);
  return 0;
}
