// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `<cuda_bf16.h>`, which is `<hip/hip_bf16.h>`, too: brain floating point under CUDA's names and HIP's. NVRTC takes the
/// toolkit's own file. For HIPRTC and the CPU the type is written here: kept in 16 bits, computed in float and rounded to
/// even once.
namespace weir::kernels {

inline constexpr const char* bfloat16_header = R"weir(
#ifndef WEIR_BFLOAT16
#define WEIR_BFLOAT16
#if defined(__CUDACC_RTC__) && !defined(__WEIR_HOST__) && !defined(WEIR_GPU)
#include <./cuda_bf16.h>
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
#elif defined(_HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_)
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
#else
#ifdef __WEIR_HOST__
#define WEIR_BF WEIR_BOTH static inline __attribute__((always_inline, unused))
#define WEIR_BF_MEMBER WEIR_BOTH inline __attribute__((always_inline))
#else
#define WEIR_BF static inline __device__ __attribute__((always_inline, unused))
#define WEIR_BF_MEMBER __device__ inline __attribute__((always_inline))
#endif

struct alignas(2) __nv_bfloat16 {
  unsigned short __x;
  __nv_bfloat16() = default;
  WEIR_BF_MEMBER __nv_bfloat16(float f) {
    unsigned int u;
    __builtin_memcpy(&u, &f, 4);
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    __x = nan ? (unsigned short)0x7fffu : (unsigned short)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
  WEIR_BF_MEMBER __nv_bfloat16(double v) : __nv_bfloat16((float)v) {}
  WEIR_BF_MEMBER __nv_bfloat16(int v) : __nv_bfloat16((float)v) {}
  WEIR_BF_MEMBER __nv_bfloat16(unsigned int v) : __nv_bfloat16((float)v) {}
  WEIR_BF_MEMBER __nv_bfloat16(long v) : __nv_bfloat16((float)v) {}
  WEIR_BF_MEMBER __nv_bfloat16(unsigned long v) : __nv_bfloat16((float)v) {}
  WEIR_BF_MEMBER operator float() const {
    const unsigned int u = (unsigned int)__x << 16;
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
  }
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  WEIR_BF_MEMBER __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;

WEIR_BF float __bfloat162float(__nv_bfloat16 a) { return (float)a; }
WEIR_BF __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
WEIR_BF __nv_bfloat16 __float2bfloat16_rn(float a) { return __nv_bfloat16(a); }
WEIR_BF __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
WEIR_BF __nv_bfloat162 __float2bfloat162_rn(float a) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(a)); }
WEIR_BF __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162(__nv_bfloat16(a), __nv_bfloat16(b)); }
WEIR_BF __nv_bfloat162 __float22bfloat162_rn(float2 a) { return __floats2bfloat162_rn(a.x, a.y); }
WEIR_BF float2 __bfloat1622float2(__nv_bfloat162 a) { return make_float2((float)a.x, (float)a.y); }
WEIR_BF __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
WEIR_BF __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
WEIR_BF __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
WEIR_BF __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
WEIR_BF __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
WEIR_BF float __low2float(__nv_bfloat162 a) { return (float)a.x; }
WEIR_BF float __high2float(__nv_bfloat162 a) { return (float)a.y; }
WEIR_BF unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.__x; }
WEIR_BF __nv_bfloat16 __ushort_as_bfloat16(unsigned short a) { __nv_bfloat16 b; b.__x = a; return b; }
WEIR_BF short __bfloat16_as_short(__nv_bfloat16 a) { return (short)a.__x; }
WEIR_BF __nv_bfloat16 __short_as_bfloat16(short a) { return __ushort_as_bfloat16((unsigned short)a); }
WEIR_BF __nv_bfloat16 __int2bfloat16_rn(int a) { return __nv_bfloat16((float)a); }
WEIR_BF __nv_bfloat16 __uint2bfloat16_rn(unsigned int a) { return __nv_bfloat16((float)a); }
WEIR_BF int __bfloat162int_rn(__nv_bfloat16 a) { return __float2int_rn((float)a); }
WEIR_BF int __bfloat162int_rz(__nv_bfloat16 a) { return __float2int_rz((float)a); }
WEIR_BF __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.x, a.x); }
WEIR_BF __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return __nv_bfloat162(a.y, a.y); }
WEIR_BF __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
WEIR_BF __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }

#define WEIR_BF_TWO(name, op, expression)                                                             \
  WEIR_BF __nv_bfloat16 name(__nv_bfloat16 ha, __nv_bfloat16 hb) {                                    \
    const float a = (float)ha, b = (float)hb;                                                         \
    return __nv_bfloat16(expression);                                                                 \
  }                                                                                                   \
  WEIR_BF __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return name(a, b); }          \
  WEIR_BF __nv_bfloat16& operator op##=(__nv_bfloat16& a, __nv_bfloat16 b) { return a = name(a, b); } \
  WEIR_BF __nv_bfloat162 operator op(__nv_bfloat162 a, __nv_bfloat162 b) {                            \
    return __nv_bfloat162(name(a.x, b.x), name(a.y, b.y));                                            \
  }                                                                                                   \
  WEIR_BF __nv_bfloat162& operator op##=(__nv_bfloat162& a, __nv_bfloat162 b) { return a = a op b; }
WEIR_BF_TWO(__hadd, +, a + b)
WEIR_BF_TWO(__hsub, -, a - b)
WEIR_BF_TWO(__hmul, *, a * b)
WEIR_BF_TWO(__hdiv, /, a / b)
#undef WEIR_BF_TWO
WEIR_BF __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return a + b; }
WEIR_BF __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) { return a - b; }
WEIR_BF __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return a * b; }
WEIR_BF __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return a / b; }
WEIR_BF __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __nv_bfloat16(__builtin_fmaf((float)a, (float)b, (float)c));
}
WEIR_BF __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __nv_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
WEIR_BF __nv_bfloat16 __hneg(__nv_bfloat16 a) { return __ushort_as_bfloat16((unsigned short)(a.__x ^ 0x8000u)); }
WEIR_BF __nv_bfloat16 __habs(__nv_bfloat16 a) { return __ushort_as_bfloat16((unsigned short)(a.__x & 0x7fffu)); }
WEIR_BF __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return __nv_bfloat162(__hneg(a.x), __hneg(a.y)); }
WEIR_BF __nv_bfloat162 __habs2(__nv_bfloat162 a) { return __nv_bfloat162(__habs(a.x), __habs(a.y)); }
WEIR_BF __nv_bfloat16 operator-(__nv_bfloat16 a) { return __hneg(a); }
WEIR_BF __nv_bfloat162 operator-(__nv_bfloat162 a) { return __hneg2(a); }
WEIR_BF bool __hisnan(__nv_bfloat16 a) { return (a.__x & 0x7fffu) > 0x7f80u; }
WEIR_BF __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return __hisnan(a) || (float)a < (float)b ? b : a; }
WEIR_BF __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) { return __hisnan(a) || (float)b < (float)a ? b : a; }
WEIR_BF __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __nv_bfloat162(__hmax(a.x, b.x), __hmax(a.y, b.y));
}
WEIR_BF __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b) {
  return __nv_bfloat162(__hmin(a.x, b.x), __hmin(a.y, b.y));
}
#define WEIR_BF_COMPARE(name, op)                                                                  \
  WEIR_BF bool name(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a op (float)b; }             \
  WEIR_BF bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a op (float)b; }
WEIR_BF_COMPARE(__heq, ==)
WEIR_BF_COMPARE(__hne, !=)
WEIR_BF_COMPARE(__hlt, <)
WEIR_BF_COMPARE(__hle, <=)
WEIR_BF_COMPARE(__hgt, >)
WEIR_BF_COMPARE(__hge, >=)
#undef WEIR_BF_COMPARE
#define WEIR_BF_ONE(name, expression) \
  WEIR_BF __nv_bfloat16 h##name(__nv_bfloat16 h) { const float a = (float)h; return __nv_bfloat16(expression); } \
  WEIR_BF __nv_bfloat162 h2##name(__nv_bfloat162 h) { return __nv_bfloat162(h##name(h.x), h##name(h.y)); }
WEIR_BF_ONE(sqrt, sqrtf(a))
WEIR_BF_ONE(rsqrt, 1.0f / sqrtf(a))
WEIR_BF_ONE(rcp, 1.0f / a)
WEIR_BF_ONE(exp, expf(a))
WEIR_BF_ONE(exp2, exp2f(a))
WEIR_BF_ONE(log, logf(a))
WEIR_BF_ONE(log2, log2f(a))
WEIR_BF_ONE(sin, sinf(a))
WEIR_BF_ONE(cos, cosf(a))
WEIR_BF_ONE(floor, floorf(a))
WEIR_BF_ONE(ceil, ceilf(a))
WEIR_BF_ONE(trunc, truncf(a))
WEIR_BF_ONE(rint, rintf(a))
#undef WEIR_BF_ONE
#ifdef __WEIR_HOST__
WEIR_BF __nv_bfloat16 atomicAdd(__nv_bfloat16* p, __nv_bfloat16 v) {
  return weir_host::atomic_update(p, [v](__nv_bfloat16 old) { return __hadd(old, v); });
}
WEIR_BF __nv_bfloat162 atomicAdd(__nv_bfloat162* p, __nv_bfloat162 v) {
  return weir_host::atomic_update(p, [v](__nv_bfloat162 old) { return __hadd2(old, v); });
}
#endif
#undef WEIR_BF
#undef WEIR_BF_MEMBER
#endif
#endif
)weir";

}  // namespace weir::kernels

