// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/joined.hpp"

/// The part that half precision and bfloat16 have in common: 16-bit numbers for which arithmetic is done in float and
/// rounded once, under the names of `<cuda_fp16.h>` and `<cuda_bf16.h>`.
namespace weir::kernels {

/// Text that comes before both types.
inline constexpr char narrow_base[] = R"weir(
#ifndef WEIR_NARROW
#define WEIR_NARROW
#ifndef WEIR_BOTH
#define WEIR_BOTH __device__
#endif
#define WEIR_N WEIR_BOTH static inline __attribute__((always_inline, unused))
#define WEIR_N_MEMBER WEIR_BOTH inline __attribute__((always_inline))
#define WEIR_JOIN_NOW(a, b, c, d) a##b##c##d
#if !defined(__CUDA__) && !defined(__HIP__) && !defined(__WEIR_HOST__) && __has_include(<math.h>)
// Files for the host alone.
#include <math.h>
#define WEIR_TO_WHOLE(way, function)                                                                 \
  static inline int __float2int_##way(float __a) { return (int)function(__a); }                      \
  static inline unsigned int __float2uint_##way(float __a) { return (unsigned int)function(__a); }   \
  static inline long long __float2ll_##way(float __a) { return (long long)function(__a); }           \
  static inline unsigned long long __float2ull_##way(float __a) { return (unsigned long long)function(__a); }
WEIR_TO_WHOLE(rn, rintf)
WEIR_TO_WHOLE(rz, truncf)
WEIR_TO_WHOLE(rd, floorf)
WEIR_TO_WHOLE(ru, ceilf)
#undef WEIR_TO_WHOLE
#endif
#define WEIR_JOIN(a, b, c, d) WEIR_JOIN_NOW(a, b, c, d)
namespace weir_narrow {
// Rounds to a float that will be rounded to 16 bits. If it is not exact, its last bit is 1, so that the result is that of a
// single rounding. A double is not converted directly, because compilers would call a function of the other compiler's
// library, which returns its result in another register.
WEIR_N float __odd(double __v) {
  float __f = (float)__v;
  if ((double)__f != __v && __v == __v) {
    unsigned int __bits;
    __builtin_memcpy(&__bits, &__f, 4);
    if (__builtin_fabs((double)__f) > __builtin_fabs(__v)) --__bits;
    __bits |= 1;
    __builtin_memcpy(&__f, &__bits, 4);
  }
  return __f;
}
WEIR_N double __exact(int __a) { return __a; }
WEIR_N double __exact(unsigned int __a) { return __a; }
WEIR_N double __exact(unsigned long long __a) {
  return (double)(__a >> 53 == 0 ? __a : (__a & ~0xfffull) | (unsigned long long)((__a & 0xfff) != 0) << 12);
}
WEIR_N double __exact(long long __a) {
  return __a < 0 ? -__exact(0 - (unsigned long long)__a) : __exact((unsigned long long)__a);
}
// The next number in a direction. Used if rounding to even went in the other direction.
template <class weir_T>
WEIR_N weir_T __next(weir_T __a, bool __up) {
  unsigned short __u;
  __builtin_memcpy(&__u, &__a, 2);
  __u = (unsigned short)((__u & 0x7fffu) == 0            ? (__up ? 0x0001u : 0x8001u)
                         : ((__u >> 15) != 0) == __up ? __u - 1u
                                                      : __u + 1u);
  __builtin_memcpy((void*)&__a, &__u, 2);
  return __a;
}
template <class weir_T>
WEIR_N weir_T rn(double __v) { return weir_T(__v); }
template <class weir_T>
WEIR_N weir_T rd(double __v) { const weir_T __a(__v); return (double)(float)__a > __v ? __next(__a, false) : __a; }
template <class weir_T>
WEIR_N weir_T ru(double __v) { const weir_T __a(__v); return (double)(float)__a < __v ? __next(__a, true) : __a; }
template <class weir_T>
WEIR_N weir_T rz(double __v) { return __v < 0 ? ru<weir_T>(__v) : rd<weir_T>(__v); }
template <class weir_T>
WEIR_N weir_T saturated(double __v) { return weir_T(__v >= 0 ? (__v < 1 ? __v : 1.0) : 0.0); }
// Return the nearest number in the range, like the processors' instructions.
WEIR_N int __fit(int __a, int __least, int __most) { return __a < __least ? __least : __a > __most ? __most : __a; }
WEIR_N unsigned int __fit(unsigned int __a, unsigned int __most) { return __a > __most ? __most : __a; }
}  // namespace weir_narrow
#endif
)weir";

/// The members of the type WEIR_T, which has a constructor from float and a conversion to float.
inline constexpr char narrow_members[] = R"weir(
#define WEIR_T2 WEIR_JOIN(WEIR_T, 2,,)
#define WEIR_RAW WEIR_JOIN(WEIR_T, _raw,,)
#define WEIR_RAW2 WEIR_JOIN(WEIR_T, 2_raw,,)
  WEIR_T() = default;
  WEIR_N_MEMBER WEIR_T(const WEIR_RAW& __r) { __builtin_memcpy((void*)this, &__r, 2); }
  WEIR_N_MEMBER operator WEIR_RAW() const { WEIR_RAW __r; __builtin_memcpy(&__r, this, 2); return __r; }
  WEIR_N_MEMBER WEIR_T(double __v) : WEIR_T(weir_narrow::__odd(__v)) {}
  WEIR_N_MEMBER WEIR_T(int __v) : WEIR_T((double)__v) {}
  WEIR_N_MEMBER WEIR_T(unsigned int __v) : WEIR_T((double)__v) {}
  WEIR_N_MEMBER WEIR_T(short __v) : WEIR_T((float)__v) {}
  WEIR_N_MEMBER WEIR_T(unsigned short __v) : WEIR_T((float)__v) {}
  WEIR_N_MEMBER WEIR_T(long __v) : WEIR_T(weir_narrow::__exact((long long)__v)) {}
  WEIR_N_MEMBER WEIR_T(unsigned long __v) : WEIR_T(weir_narrow::__exact((unsigned long long)__v)) {}
  WEIR_N_MEMBER WEIR_T(long long __v) : WEIR_T(weir_narrow::__exact(__v)) {}
  WEIR_N_MEMBER WEIR_T(unsigned long long __v) : WEIR_T(weir_narrow::__exact(__v)) {}
)weir";

/// The functions for the type WEIR_T. WEIR_WORD is the type's name within names of functions; WEIR_INFINITY is the type's
/// infinity. WEIR_PTX is the type in NVIDIA's instructions. WEIR_PTX_FUSES is the first __CUDA_ARCH__ that has an
/// instruction for a * b + c, WEIR_PTX_ADDS for a + b, a - b and a * b, and WEIR_PTX_ADDS_IN_MEMORY for atomicAdd.
inline constexpr char narrow_functions[] = R"weir(
struct alignas(4) WEIR_RAW2 {
  unsigned short x, y;
};
struct alignas(4) WEIR_T2 {
  WEIR_T x, y;
  WEIR_T2() = default;
  WEIR_N_MEMBER WEIR_T2(WEIR_T __a, WEIR_T __b) : x(__a), y(__b) {}
  WEIR_N_MEMBER WEIR_T2(const WEIR_RAW2& __r) { __builtin_memcpy((void*)this, &__r, 4); }
  WEIR_N_MEMBER operator WEIR_RAW2() const { WEIR_RAW2 __r; __builtin_memcpy(&__r, this, 4); return __r; }
};
#define WEIR_OF(end) WEIR_JOIN(__, WEIR_WORD, end,)
#define WEIR_TO(begin, end) WEIR_JOIN(__, begin, WEIR_WORD, end)
#define WEIR_OF_BITS WEIR_TO(ushort_as_,)
WEIR_N unsigned short WEIR_OF(_as_ushort)(WEIR_T __a) { unsigned short __u; __builtin_memcpy(&__u, &__a, 2); return __u; }
WEIR_N WEIR_T WEIR_OF_BITS(unsigned short __u) { WEIR_T __a; __builtin_memcpy((void*)&__a, &__u, 2); return __a; }
WEIR_N short WEIR_OF(_as_short)(WEIR_T __a) { return (short)WEIR_OF(_as_ushort)(__a); }
WEIR_N WEIR_T WEIR_TO(short_as_,)(short __s) { return WEIR_OF_BITS((unsigned short)__s); }

WEIR_N float WEIR_OF(2float)(WEIR_T __a) { return (float)__a; }
WEIR_N WEIR_T WEIR_TO(float2,)(float __a) { return WEIR_T(__a); }
WEIR_N WEIR_T WEIR_TO(float2, _rn)(float __a) { return WEIR_T(__a); }
WEIR_N WEIR_T WEIR_TO(float2, _rz)(float __a) { return weir_narrow::rz<WEIR_T>(__a); }
WEIR_N WEIR_T WEIR_TO(float2, _rd)(float __a) { return weir_narrow::rd<WEIR_T>(__a); }
WEIR_N WEIR_T WEIR_TO(float2, _ru)(float __a) { return weir_narrow::ru<WEIR_T>(__a); }
WEIR_N WEIR_T WEIR_TO(double2,)(double __a) { return WEIR_T(__a); }
#define WEIR_CONVERSION(name, type, way) \
  WEIR_N WEIR_T WEIR_TO(name##2, _##way)(type __a) { return weir_narrow::way<WEIR_T>(weir_narrow::__exact(__a)); } \
  WEIR_N type WEIR_OF(2##name##_##way)(WEIR_T __a) { return __float2##name##_##way((float)__a); }
#define WEIR_CONVERSIONS(way) \
  WEIR_CONVERSION(int, int, way) \
  WEIR_CONVERSION(uint, unsigned int, way) \
  WEIR_CONVERSION(ll, long long, way) \
  WEIR_CONVERSION(ull, unsigned long long, way) \
  WEIR_N WEIR_T WEIR_TO(short2, _##way)(short __a) { return weir_narrow::way<WEIR_T>(__a); } \
  WEIR_N WEIR_T WEIR_TO(ushort2, _##way)(unsigned short __a) { return weir_narrow::way<WEIR_T>(__a); } \
  WEIR_N short WEIR_OF(2short_##way)(WEIR_T __a) { \
    return (short)weir_narrow::__fit(__float2int_##way((float)__a), -32768, 32767); \
  } \
  WEIR_N unsigned short WEIR_OF(2ushort_##way)(WEIR_T __a) { \
    return (unsigned short)weir_narrow::__fit(__float2uint_##way((float)__a), 65535u); \
  }
WEIR_CONVERSIONS(rn)
WEIR_CONVERSIONS(rz)
WEIR_CONVERSIONS(rd)
WEIR_CONVERSIONS(ru)
#undef WEIR_CONVERSIONS
#undef WEIR_CONVERSION
WEIR_N signed char WEIR_OF(2char_rz)(WEIR_T __a) {
  return (signed char)weir_narrow::__fit(__float2int_rz((float)__a), -128, 127);
}
WEIR_N unsigned char WEIR_OF(2uchar_rz)(WEIR_T __a) {
  return (unsigned char)weir_narrow::__fit(__float2uint_rz((float)__a), 255u);
}

WEIR_N WEIR_T2 WEIR_JOIN(make_, WEIR_WORD, 2,)(WEIR_T __a, WEIR_T __b) { return WEIR_T2(__a, __b); }
WEIR_N WEIR_T2 WEIR_TO(halves2, 2)(WEIR_T __a, WEIR_T __b) { return WEIR_T2(__a, __b); }
WEIR_N WEIR_T2 WEIR_JOIN(WEIR_OF(2), WEIR_WORD, 2,)(WEIR_T __a) { return WEIR_T2(__a, __a); }
WEIR_N WEIR_T2 WEIR_TO(float2, 2_rn)(float __a) { return WEIR_T2(WEIR_T(__a), WEIR_T(__a)); }
WEIR_N WEIR_T2 WEIR_TO(floats2, 2_rn)(float __a, float __b) { return WEIR_T2(WEIR_T(__a), WEIR_T(__b)); }
WEIR_N WEIR_T2 WEIR_TO(float22, 2_rn)(float2 __a) { return WEIR_T2(WEIR_T(__a.x), WEIR_T(__a.y)); }
WEIR_N float2 WEIR_OF(22float2)(WEIR_T2 __a) { return make_float2((float)__a.x, (float)__a.y); }
WEIR_N WEIR_T WEIR_TO(low2,)(WEIR_T2 __a) { return __a.x; }
WEIR_N WEIR_T WEIR_TO(high2,)(WEIR_T2 __a) { return __a.y; }
WEIR_N float __low2float(WEIR_T2 __a) { return (float)__a.x; }
WEIR_N float __high2float(WEIR_T2 __a) { return (float)__a.y; }
WEIR_N WEIR_T2 WEIR_TO(low2, 2)(WEIR_T2 __a) { return WEIR_T2(__a.x, __a.x); }
WEIR_N WEIR_T2 WEIR_TO(high2, 2)(WEIR_T2 __a) { return WEIR_T2(__a.y, __a.y); }
WEIR_N WEIR_T2 __lowhigh2highlow(WEIR_T2 __a) { return WEIR_T2(__a.y, __a.x); }
WEIR_N WEIR_T2 WEIR_TO(lows2, 2)(WEIR_T2 __a, WEIR_T2 __b) { return WEIR_T2(__a.x, __b.x); }
WEIR_N WEIR_T2 WEIR_TO(highs2, 2)(WEIR_T2 __a, WEIR_T2 __b) { return WEIR_T2(__a.y, __b.y); }

#define WEIR_PAIRS(name, name2) \
  WEIR_N WEIR_T2 name2(WEIR_T2 __a, WEIR_T2 __b) { return WEIR_T2(name(__a.x, __b.x), name(__a.y, __b.y)); }
#ifdef WEIR_FOR_NVIDIA
WEIR_N unsigned int __bits(WEIR_T2 __a) { unsigned int __u; __builtin_memcpy(&__u, &__a, 4); return __u; }
WEIR_N WEIR_T2 WEIR_OF(2_of)(unsigned int __u) { WEIR_T2 __a; __builtin_memcpy((void*)&__a, &__u, 4); return __a; }
#endif
// On NVIDIA's GPUs, ptxas may fuse a product and a sum of pairs, as in CUDA. Clang makes the instructions for single
// numbers.
#if defined(WEIR_FOR_NVIDIA) && __CUDA_ARCH__ >= WEIR_PTX_ADDS
#define WEIR_NATIVE_PAIRS(name, name2, instruction) \
  WEIR_N WEIR_T2 name2(WEIR_T2 __a, WEIR_T2 __b) { \
    unsigned int __r; \
    asm(#instruction "." WEIR_PTX "x2 %0, %1, %2;" : "=r"(__r) : "r"(__bits(__a)), "r"(__bits(__b))); \
    return WEIR_OF(2_of)(__r); \
  }
#else
#define WEIR_NATIVE_PAIRS(name, name2, instruction) WEIR_PAIRS(name, name2)
#endif
#define WEIR_OPERATOR(name, name2, op, pairs) \
  WEIR_N WEIR_T name(WEIR_T __a, WEIR_T __b) { return WEIR_T((float)__a op (float)__b); } \
  pairs \
  WEIR_N WEIR_T operator op(WEIR_T __a, WEIR_T __b) { return name(__a, __b); } \
  WEIR_N WEIR_T& operator op##=(WEIR_T& __a, WEIR_T __b) { return __a = name(__a, __b); } \
  WEIR_N WEIR_T2 operator op(WEIR_T2 __a, WEIR_T2 __b) { return name2(__a, __b); } \
  WEIR_N WEIR_T2& operator op##=(WEIR_T2& __a, WEIR_T2 __b) { return __a = name2(__a, __b); }
#define WEIR_ARITHMETIC(name, op, instruction) \
  WEIR_OPERATOR(name, name##2, op, WEIR_NATIVE_PAIRS(name, name##2, instruction)) \
  WEIR_N WEIR_T name##_rn(WEIR_T __a, WEIR_T __b) { return name(__a, __b); } \
  WEIR_N WEIR_T name##_sat(WEIR_T __a, WEIR_T __b) { return weir_narrow::saturated<WEIR_T>((float)__a op (float)__b); } \
  WEIR_PAIRS(name, name##2_rn) \
  WEIR_PAIRS(name##_sat, name##2_sat)
WEIR_ARITHMETIC(__hadd, +, add)
WEIR_ARITHMETIC(__hsub, -, sub)
WEIR_ARITHMETIC(__hmul, *, mul)
WEIR_OPERATOR(__hdiv, __h2div, /, WEIR_PAIRS(__hdiv, __h2div))
#undef WEIR_ARITHMETIC
#undef WEIR_OPERATOR
#undef WEIR_NATIVE_PAIRS
WEIR_N WEIR_T __hneg(WEIR_T __a) { return WEIR_OF_BITS((unsigned short)(WEIR_OF(_as_ushort)(__a) ^ 0x8000u)); }
WEIR_N WEIR_T __habs(WEIR_T __a) { return WEIR_OF_BITS((unsigned short)(WEIR_OF(_as_ushort)(__a) & 0x7fffu)); }
WEIR_N WEIR_T2 __hneg2(WEIR_T2 __a) { return WEIR_T2(__hneg(__a.x), __hneg(__a.y)); }
WEIR_N WEIR_T2 __habs2(WEIR_T2 __a) { return WEIR_T2(__habs(__a.x), __habs(__a.y)); }
WEIR_N WEIR_T operator-(WEIR_T __a) { return __hneg(__a); }
WEIR_N WEIR_T operator+(WEIR_T __a) { return __a; }
WEIR_N WEIR_T2 operator-(WEIR_T2 __a) { return __hneg2(__a); }
WEIR_N WEIR_T& operator++(WEIR_T& __a) { return __a = __hadd(__a, WEIR_T(1.0f)); }
WEIR_N WEIR_T& operator--(WEIR_T& __a) { return __a = __hsub(__a, WEIR_T(1.0f)); }
WEIR_N bool __hisnan(WEIR_T __a) { return (WEIR_OF(_as_ushort)(__a) & 0x7fffu) > WEIR_INFINITY; }
WEIR_N WEIR_T2 __hisnan2(WEIR_T2 __a) {
  return WEIR_T2(WEIR_T(__hisnan(__a.x) ? 1.0f : 0.0f), WEIR_T(__hisnan(__a.y) ? 1.0f : 0.0f));
}
WEIR_N int __hisinf(WEIR_T __a) {
  const unsigned int __u = WEIR_OF(_as_ushort)(__a);
  return (__u & 0x7fffu) != WEIR_INFINITY ? 0 : __u >> 15 ? -1 : 1;
}
WEIR_N WEIR_T __hmax(WEIR_T __a, WEIR_T __b) { return __hisnan(__a) || (float)__a < (float)__b ? __b : __a; }
WEIR_N WEIR_T __hmin(WEIR_T __a, WEIR_T __b) { return __hisnan(__a) || (float)__b < (float)__a ? __b : __a; }
WEIR_N WEIR_T __hmax_nan(WEIR_T __a, WEIR_T __b) { return __hisnan(__a) ? __a : __hisnan(__b) ? __b : __hmax(__a, __b); }
WEIR_N WEIR_T __hmin_nan(WEIR_T __a, WEIR_T __b) { return __hisnan(__a) ? __a : __hisnan(__b) ? __b : __hmin(__a, __b); }
WEIR_PAIRS(__hmax, __hmax2)
WEIR_PAIRS(__hmin, __hmin2)
WEIR_PAIRS(__hmax_nan, __hmax2_nan)
WEIR_PAIRS(__hmin_nan, __hmin2_nan)
#undef WEIR_PAIRS
// The product is exact in double, and so is the sum unless one is much smaller than the other.
#define WEIR_FUSED(end, expression) \
  WEIR_N WEIR_T __hfma##end(WEIR_T __a, WEIR_T __b, WEIR_T __c) { \
    const double __v = (double)(float)__a * (double)(float)__b + (double)(float)__c; \
    return expression; \
  } \
  WEIR_N WEIR_T2 __hfma2##end(WEIR_T2 __a, WEIR_T2 __b, WEIR_T2 __c) { \
    return WEIR_T2(__hfma##end(__a.x, __b.x, __c.x), __hfma##end(__a.y, __b.y, __c.y)); \
  }
#if defined(WEIR_FOR_NVIDIA) && __CUDA_ARCH__ >= WEIR_PTX_FUSES
WEIR_N WEIR_T __hfma(WEIR_T __a, WEIR_T __b, WEIR_T __c) {
  unsigned short __r;
  asm("fma.rn." WEIR_PTX " %0, %1, %2, %3;"
      : "=h"(__r)
      : "h"(WEIR_OF(_as_ushort)(__a)), "h"(WEIR_OF(_as_ushort)(__b)), "h"(WEIR_OF(_as_ushort)(__c)));
  return WEIR_OF_BITS(__r);
}
WEIR_N WEIR_T2 __hfma2(WEIR_T2 __a, WEIR_T2 __b, WEIR_T2 __c) {
  unsigned int __r;
  asm("fma.rn." WEIR_PTX "x2 %0, %1, %2, %3;" : "=r"(__r) : "r"(__bits(__a)), "r"(__bits(__b)), "r"(__bits(__c)));
  return WEIR_OF(2_of)(__r);
}
#else
WEIR_FUSED(, WEIR_T(__v))
#endif
WEIR_FUSED(_sat, weir_narrow::saturated<WEIR_T>(__v))
WEIR_FUSED(_relu, __hmax_nan(WEIR_T(__v), WEIR_T(0.0f)))
#undef WEIR_FUSED
WEIR_N WEIR_T2 __hcmadd(WEIR_T2 __a, WEIR_T2 __b, WEIR_T2 __c) {
  return WEIR_T2(__hfma(__hneg(__a.y), __b.y, __hfma(__a.x, __b.x, __c.x)),
                 __hfma(__a.y, __b.x, __hfma(__a.x, __b.y, __c.y)));
}

#define WEIR_COMPARE(name, expression) \
  WEIR_N bool __h##name(WEIR_T __ha, WEIR_T __hb) { const float __a = (float)__ha, __b = (float)__hb; return expression; } \
  WEIR_N bool __hb##name##2(WEIR_T2 __a, WEIR_T2 __b) { return __h##name(__a.x, __b.x) && __h##name(__a.y, __b.y); } \
  WEIR_N unsigned int __h##name##2_mask(WEIR_T2 __a, WEIR_T2 __b) { \
    return (__h##name(__a.x, __b.x) ? 0xffffu : 0) | (__h##name(__a.y, __b.y) ? 0xffff0000u : 0); \
  } \
  WEIR_N WEIR_T2 __h##name##2(WEIR_T2 __a, WEIR_T2 __b) { \
    return WEIR_T2(WEIR_T(__h##name(__a.x, __b.x) ? 1.0f : 0.0f), WEIR_T(__h##name(__a.y, __b.y) ? 1.0f : 0.0f)); \
  }
#define WEIR_COMPARE_OPERATOR(op, name) \
  WEIR_N bool operator op(WEIR_T __a, WEIR_T __b) { return __h##name(__a, __b); } \
  WEIR_N bool operator op(WEIR_T2 __a, WEIR_T2 __b) { return __hb##name##2(__a, __b); }
// Functions whose name ends in `u` return true if an operand is NaN.
WEIR_COMPARE(eq, __a == __b)
WEIR_COMPARE(ne, __a < __b || __a > __b)
WEIR_COMPARE(lt, __a < __b)
WEIR_COMPARE(le, __a <= __b)
WEIR_COMPARE(gt, __a > __b)
WEIR_COMPARE(ge, __a >= __b)
WEIR_COMPARE(equ, !(__a < __b || __a > __b))
WEIR_COMPARE(neu, __a != __b)
WEIR_COMPARE(ltu, !(__a >= __b))
WEIR_COMPARE(leu, !(__a > __b))
WEIR_COMPARE(gtu, !(__a <= __b))
WEIR_COMPARE(geu, !(__a < __b))
WEIR_COMPARE_OPERATOR(==, eq)
WEIR_COMPARE_OPERATOR(!=, neu)
WEIR_COMPARE_OPERATOR(<, lt)
WEIR_COMPARE_OPERATOR(<=, le)
WEIR_COMPARE_OPERATOR(>, gt)
WEIR_COMPARE_OPERATOR(>=, ge)
#undef WEIR_COMPARE_OPERATOR
#undef WEIR_COMPARE

#define WEIR_MATH(name, expression) \
  WEIR_N WEIR_T h##name(WEIR_T __h) { const float __a = (float)__h; return WEIR_T(expression); } \
  WEIR_N WEIR_T2 h2##name(WEIR_T2 __h) { return WEIR_T2(h##name(__h.x), h##name(__h.y)); }
WEIR_MATH(sqrt, sqrtf(__a))
WEIR_MATH(rsqrt, 1.0f / sqrtf(__a))
WEIR_MATH(rcp, 1.0f / __a)
WEIR_MATH(exp, expf(__a))
WEIR_MATH(exp2, exp2f(__a))
WEIR_MATH(exp10, powf(10.0f, __a))
WEIR_MATH(log, logf(__a))
WEIR_MATH(log2, log2f(__a))
WEIR_MATH(log10, log10f(__a))
WEIR_MATH(sin, sinf(__a))
WEIR_MATH(cos, cosf(__a))
WEIR_MATH(floor, floorf(__a))
WEIR_MATH(ceil, ceilf(__a))
WEIR_MATH(trunc, truncf(__a))
WEIR_MATH(rint, rintf(__a))
WEIR_MATH(tanh, tanhf(__a))
WEIR_MATH(tanh_approx, tanhf(__a))
#undef WEIR_MATH
#if defined(__WEIR_HOST__) || defined(WEIR_GPU)
// Adds to one number, or to both numbers of a pair at once. By the annotation, the work-group pass finds the loop that adds.
#if defined(__WEIR_HOST__) && defined(__clang__)
#define WEIR_UPDATE_NAME_OF(word) "weir.add." #word
#define WEIR_UPDATE_NAME(word) WEIR_UPDATE_NAME_OF(word)
#define WEIR_ADDS __attribute__((annotate(WEIR_UPDATE_NAME(WEIR_WORD))))
#else
#define WEIR_ADDS
#endif
#if defined(WEIR_FOR_NVIDIA) && __CUDA_ARCH__ >= WEIR_PTX_ADDS_IN_MEMORY
WEIR_N WEIR_T atomicAdd(WEIR_T* __p, WEIR_T __v) {
  unsigned short __r;
  asm volatile("atom.add.noftz." WEIR_PTX " %0, [%1], %2;"
               : "=h"(__r)
               : "l"(__p), "h"(WEIR_OF(_as_ushort)(__v))
               : "memory");
  return WEIR_OF_BITS(__r);
}
WEIR_N WEIR_T2 atomicAdd(WEIR_T2* __p, WEIR_T2 __v) {
  unsigned int __r;
  asm volatile("atom.add.noftz." WEIR_PTX "x2 %0, [%1], %2;" : "=r"(__r) : "l"(__p), "r"(__bits(__v)) : "memory");
  return WEIR_OF(2_of)(__r);
}
#else
WEIR_ADDS WEIR_N WEIR_T atomicAdd(WEIR_T* __p, WEIR_T __v) {
  return weir_host::atomic_update(__p, [__v](WEIR_T __old) { return __hadd(__old, __v); });
}
WEIR_ADDS WEIR_N WEIR_T2 atomicAdd(WEIR_T2* __p, WEIR_T2 __v) {
  return weir_host::atomic_update(__p, [__v](WEIR_T2 __old) { return __hadd2(__old, __v); });
}
#endif
#undef WEIR_ADDS
#undef WEIR_UPDATE_NAME
#undef WEIR_UPDATE_NAME_OF
#endif
#ifdef WEIR_SHUFFLES
WEIR_SHUFFLES(WEIR_N, WEIR_T)
WEIR_SHUFFLES(WEIR_N, WEIR_T2)
#endif
#undef WEIR_OF_BITS
#undef WEIR_TO
#undef WEIR_OF
#undef WEIR_RAW2
#undef WEIR_RAW
#undef WEIR_T2
#undef WEIR_T
#undef WEIR_WORD
#undef WEIR_INFINITY
#undef WEIR_PTX_ADDS_IN_MEMORY
#undef WEIR_PTX_ADDS
#undef WEIR_PTX_FUSES
#undef WEIR_PTX
)weir";

}  // namespace weir::kernels
