// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `<cuda_fp16.h>`, which is `<hip/hip_fp16.h>`, too, on the CPU: half precision under the names that CUDA and HIP share.
/// Kept in 16 bits, computed in float and rounded to even once.
namespace weir::kernels {

inline constexpr const char* half_header = R"weir(
#ifndef WEIR_HALF
#define WEIR_HALF
#define WEIR_H WEIR_BOTH static inline __attribute__((always_inline, unused))
#define WEIR_H_MEMBER WEIR_BOTH inline __attribute__((always_inline))

namespace weir_host {
// Clang 14 has _Float16 for few processors, and __fp16 for all.
#ifdef __clang__
using half_value = __fp16;
#else
using half_value = _Float16;
#endif
// On the way from double to half: what float cannot keep leaves an odd last bit, so that the second rounding is as if it
// were the only one. Compilers would call a function of the other compiler's library, which hands its result over in another
// register.
WEIR_H float rounded_to_odd(double v) {
  float f = (float)v;
  if ((double)f != v && v == v) {
    unsigned int bits;
    __builtin_memcpy(&bits, &f, 4);
    if (__builtin_fabs((double)f) > __builtin_fabs(v)) --bits;
    bits |= 1;
    __builtin_memcpy(&f, &bits, 4);
  }
  return f;
}
}  // namespace weir_host

struct alignas(2) __half_raw {
  unsigned short x;
};
struct alignas(4) __half2_raw {
  unsigned short x, y;
};
struct alignas(2) __half {
  weir_host::half_value weir_value;
  __half() = default;
  WEIR_H_MEMBER __half(const __half_raw& r) { __builtin_memcpy(&weir_value, &r, 2); }
  WEIR_H_MEMBER operator __half_raw() const { __half_raw r; __builtin_memcpy(&r, &weir_value, 2); return r; }
  WEIR_H_MEMBER __half(float v) : weir_value((weir_host::half_value)v) {}
  WEIR_H_MEMBER __half(double v) : weir_value((weir_host::half_value)weir_host::rounded_to_odd(v)) {}
  WEIR_H_MEMBER __half(int v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(unsigned int v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(short v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(unsigned short v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(long v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(unsigned long v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(long long v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER __half(unsigned long long v) : weir_value((weir_host::half_value)(float)v) {}
  WEIR_H_MEMBER operator float() const { return (float)weir_value; }
};
struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  WEIR_H_MEMBER __half2(__half a, __half b) : x(a), y(b) {}
  WEIR_H_MEMBER __half2(const __half2_raw& r) { __builtin_memcpy((void*)this, &r, 4); }
  WEIR_H_MEMBER operator __half2_raw() const { __half2_raw r; __builtin_memcpy(&r, this, 4); return r; }
};
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;

WEIR_H unsigned short __half_as_ushort(__half a) { unsigned short u; __builtin_memcpy(&u, &a, 2); return u; }
WEIR_H __half __ushort_as_half(unsigned short u) { __half a; __builtin_memcpy(&a, &u, 2); return a; }
WEIR_H short __half_as_short(__half a) { return (short)__half_as_ushort(a); }
WEIR_H __half __short_as_half(short s) { return __ushort_as_half((unsigned short)s); }

WEIR_H float __half2float(__half a) { return (float)a; }
WEIR_H __half __float2half(float a) { return __half(a); }
WEIR_H __half __float2half_rn(float a) { return __half(a); }
namespace weir_host {
// The next number in a direction, where rounding to even went the other way.
WEIR_H __half half_next(__half a, bool up) {
  const unsigned short u = __half_as_ushort(a);
  if ((u & 0x7fffu) == 0) return __ushort_as_half(up ? 0x0001u : 0x8001u);
  return __ushort_as_half((unsigned short)(((u >> 15) != 0) == up ? u - 1 : u + 1));
}
WEIR_H __half half_down(float a) { const __half h(a); return (float)h > a ? half_next(h, false) : h; }
WEIR_H __half half_up(float a) { const __half h(a); return (float)h < a ? half_next(h, true) : h; }
}  // namespace weir_host
WEIR_H __half __float2half_rd(float a) { return weir_host::half_down(a); }
WEIR_H __half __float2half_ru(float a) { return weir_host::half_up(a); }
WEIR_H __half __float2half_rz(float a) { return a < 0 ? weir_host::half_up(a) : weir_host::half_down(a); }
WEIR_H __half __double2half(double a) { return __half(a); }
WEIR_H __half __int2half_rn(int a) { return __half(a); }
WEIR_H __half __uint2half_rn(unsigned int a) { return __half(a); }
WEIR_H __half __short2half_rn(short a) { return __half(a); }
WEIR_H __half __ushort2half_rn(unsigned short a) { return __half(a); }
WEIR_H __half __ll2half_rn(long long a) { return __half(a); }
WEIR_H __half __ull2half_rn(unsigned long long a) { return __half(a); }
WEIR_H int __half2int_rn(__half a) { return __float2int_rn((float)a); }
WEIR_H int __half2int_rz(__half a) { return __float2int_rz((float)a); }
WEIR_H int __half2int_rd(__half a) { return __float2int_rd((float)a); }
WEIR_H int __half2int_ru(__half a) { return __float2int_ru((float)a); }
WEIR_H unsigned int __half2uint_rn(__half a) { return __float2uint_rn((float)a); }
WEIR_H unsigned int __half2uint_rz(__half a) { return __float2uint_rz((float)a); }
// As the instructions do, which give the nearest number that there is.
WEIR_H short weir_to_short(int a) { return (short)(a < -32768 ? -32768 : a > 32767 ? 32767 : a); }
WEIR_H unsigned short weir_to_ushort(unsigned int a) { return (unsigned short)(a > 65535 ? 65535 : a); }
WEIR_H short __half2short_rn(__half a) { return weir_to_short(__float2int_rn((float)a)); }
WEIR_H short __half2short_rz(__half a) { return weir_to_short(__float2int_rz((float)a)); }
WEIR_H unsigned short __half2ushort_rn(__half a) { return weir_to_ushort(__float2uint_rn((float)a)); }
WEIR_H unsigned short __half2ushort_rz(__half a) { return weir_to_ushort(__float2uint_rz((float)a)); }
WEIR_H long long __half2ll_rn(__half a) { return __float2ll_rn((float)a); }
WEIR_H long long __half2ll_rz(__half a) { return __float2ll_rz((float)a); }

WEIR_H __half2 make_half2(__half a, __half b) { return __half2(a, b); }
WEIR_H __half2 __halves2half2(__half a, __half b) { return __half2(a, b); }
WEIR_H __half2 __half2half2(__half a) { return __half2(a, a); }
WEIR_H __half2 __float2half2_rn(float a) { return __half2(__half(a), __half(a)); }
WEIR_H __half2 __floats2half2_rn(float a, float b) { return __half2(__half(a), __half(b)); }
WEIR_H __half2 __float22half2_rn(float2 a) { return __half2(__half(a.x), __half(a.y)); }
WEIR_H float2 __half22float2(__half2 a) { return make_float2((float)a.x, (float)a.y); }
WEIR_H __half __low2half(__half2 a) { return a.x; }
WEIR_H __half __high2half(__half2 a) { return a.y; }
WEIR_H float __low2float(__half2 a) { return (float)a.x; }
WEIR_H float __high2float(__half2 a) { return (float)a.y; }
WEIR_H __half2 __low2half2(__half2 a) { return __half2(a.x, a.x); }
WEIR_H __half2 __high2half2(__half2 a) { return __half2(a.y, a.y); }
WEIR_H __half2 __lowhigh2highlow(__half2 a) { return __half2(a.y, a.x); }
WEIR_H __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
WEIR_H __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }

#define WEIR_H_TWO(name, name2, op, expression)                                                                      \
  WEIR_H __half name(__half ha, __half hb) { const float a = (float)ha, b = (float)hb; return __half(expression); }  \
  WEIR_H __half2 name2(__half2 a, __half2 b) { return __half2(name(a.x, b.x), name(a.y, b.y)); }                     \
  WEIR_H __half operator op(__half a, __half b) { return name(a, b); }                                               \
  WEIR_H __half& operator op##=(__half& a, __half b) { return a = name(a, b); }                                      \
  WEIR_H __half2 operator op(__half2 a, __half2 b) { return name2(a, b); }                                           \
  WEIR_H __half2& operator op##=(__half2& a, __half2 b) { return a = name2(a, b); }
WEIR_H_TWO(__hadd, __hadd2, +, a + b)
WEIR_H_TWO(__hsub, __hsub2, -, a - b)
WEIR_H_TWO(__hmul, __hmul2, *, a * b)
WEIR_H_TWO(__hdiv, __h2div, /, a / b)
#undef WEIR_H_TWO
namespace weir_host {
WEIR_H __half half_saturated(float a) { return __half(a >= 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f); }
}  // namespace weir_host
WEIR_H __half __hadd_sat(__half a, __half b) { return weir_host::half_saturated((float)a + (float)b); }
WEIR_H __half __hsub_sat(__half a, __half b) { return weir_host::half_saturated((float)a - (float)b); }
WEIR_H __half __hmul_sat(__half a, __half b) { return weir_host::half_saturated((float)a * (float)b); }
WEIR_H __half2 __hadd2_sat(__half2 a, __half2 b) { return __half2(__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)); }
WEIR_H __half2 __hsub2_sat(__half2 a, __half2 b) { return __half2(__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)); }
WEIR_H __half2 __hmul2_sat(__half2 a, __half2 b) { return __half2(__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)); }
// The product is exact in double, and so is the sum unless one is much smaller than the other.
WEIR_H __half __hfma(__half a, __half b, __half c) { return __half((double)(float)a * (double)(float)b + (double)(float)c); }
WEIR_H __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
WEIR_H __half __hneg(__half a) { return __ushort_as_half((unsigned short)(__half_as_ushort(a) ^ 0x8000u)); }
WEIR_H __half __habs(__half a) { return __ushort_as_half((unsigned short)(__half_as_ushort(a) & 0x7fffu)); }
WEIR_H __half2 __hneg2(__half2 a) { return __half2(__hneg(a.x), __hneg(a.y)); }
WEIR_H __half2 __habs2(__half2 a) { return __half2(__habs(a.x), __habs(a.y)); }
WEIR_H __half operator-(__half a) { return __hneg(a); }
WEIR_H __half operator+(__half a) { return a; }
WEIR_H __half2 operator-(__half2 a) { return __hneg2(a); }
WEIR_H __half& operator++(__half& a) { return a = __hadd(a, __half(1.0f)); }
WEIR_H __half& operator--(__half& a) { return a = __hsub(a, __half(1.0f)); }
WEIR_H bool __hisnan(__half a) { return (__half_as_ushort(a) & 0x7fffu) > 0x7c00u; }
WEIR_H int __hisinf(__half a) {
  const unsigned short u = __half_as_ushort(a);
  return u == 0x7c00u ? 1 : u == 0xfc00u ? -1 : 0;
}
WEIR_H __half __hmax(__half a, __half b) { return __hisnan(a) || (float)a < (float)b ? b : a; }
WEIR_H __half __hmin(__half a, __half b) { return __hisnan(a) || (float)b < (float)a ? b : a; }
WEIR_H __half2 __hmax2(__half2 a, __half2 b) { return __half2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }
WEIR_H __half2 __hmin2(__half2 a, __half2 b) { return __half2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }

WEIR_H __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
WEIR_H __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
WEIR_H __half2 __hmax2_nan(__half2 a, __half2 b) { return __half2(__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)); }
WEIR_H __half2 __hmin2_nan(__half2 a, __half2 b) { return __half2(__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)); }
WEIR_H __half __hfma_relu(__half a, __half b, __half c) { return __hmax_nan(__hfma(a, b, c), __half(0.0f)); }
WEIR_H __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
  return __half2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}

#define WEIR_H_COMPARE(name, op)                                                                            \
  WEIR_H bool name(__half a, __half b) { return (float)a op (float)b; }                                     \
  WEIR_H bool operator op(__half a, __half b) { return (float)a op (float)b; }                              \
  WEIR_H bool operator op(__half2 a, __half2 b) { return name(a.x, b.x) && name(a.y, b.y); }                \
  WEIR_H __half2 name##2(__half2 a, __half2 b) {                                                            \
    return __half2(__half(name(a.x, b.x) ? 1.0f : 0.0f), __half(name(a.y, b.y) ? 1.0f : 0.0f));             \
  }
WEIR_H_COMPARE(__heq, ==)
WEIR_H_COMPARE(__hne, !=)
WEIR_H_COMPARE(__hlt, <)
WEIR_H_COMPARE(__hle, <=)
WEIR_H_COMPARE(__hgt, >)
WEIR_H_COMPARE(__hge, >=)
#undef WEIR_H_COMPARE
WEIR_H bool __hbeq2(__half2 a, __half2 b) { return __heq(a.x, b.x) && __heq(a.y, b.y); }
WEIR_H bool __hbne2(__half2 a, __half2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
WEIR_H bool __hblt2(__half2 a, __half2 b) { return __hlt(a.x, b.x) && __hlt(a.y, b.y); }
WEIR_H bool __hble2(__half2 a, __half2 b) { return __hle(a.x, b.x) && __hle(a.y, b.y); }
WEIR_H bool __hbgt2(__half2 a, __half2 b) { return __hgt(a.x, b.x) && __hgt(a.y, b.y); }
WEIR_H bool __hbge2(__half2 a, __half2 b) { return __hge(a.x, b.x) && __hge(a.y, b.y); }

#define WEIR_H_ONE(name, expression)                                                                     \
  WEIR_H __half h##name(__half h) { const float a = (float)h; return __half(expression); }               \
  WEIR_H __half2 h2##name(__half2 h) { return __half2(h##name(h.x), h##name(h.y)); }
WEIR_H_ONE(sqrt, sqrtf(a))
WEIR_H_ONE(rsqrt, 1.0f / sqrtf(a))
WEIR_H_ONE(rcp, 1.0f / a)
WEIR_H_ONE(exp, expf(a))
WEIR_H_ONE(exp2, exp2f(a))
WEIR_H_ONE(exp10, powf(10.0f, a))
WEIR_H_ONE(log, logf(a))
WEIR_H_ONE(log2, log2f(a))
WEIR_H_ONE(log10, log10f(a))
WEIR_H_ONE(sin, sinf(a))
WEIR_H_ONE(cos, cosf(a))
WEIR_H_ONE(floor, floorf(a))
WEIR_H_ONE(ceil, ceilf(a))
WEIR_H_ONE(trunc, truncf(a))
WEIR_H_ONE(rint, rintf(a))
WEIR_H_ONE(tanh, tanhf(a))
#undef WEIR_H_ONE
// One number by itself, or a pair at once.
WEIR_H __half atomicAdd(__half* p, __half v) {
  return weir_host::atomic_update(p, [v](__half old) { return __hadd(old, v); });
}
WEIR_H __half2 atomicAdd(__half2* p, __half2 v) {
  return weir_host::atomic_update(p, [v](__half2 old) { return __hadd2(old, v); });
}
#undef WEIR_H
#undef WEIR_H_MEMBER
#endif
)weir";

}  // namespace weir::kernels
