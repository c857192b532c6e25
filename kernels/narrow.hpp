// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

/// The part that half precision and bfloat16 have in common: 16-bit numbers for which arithmetic is done in float and
/// rounded once, under the names of `<cuda_fp16.h>` and `<cuda_bf16.h>`.
namespace weir::kernels {

/// Concatenates the texts.
template <std::size_t... N>
consteval auto joined(const char (&... parts)[N]) {
  std::array<char, (... + (N - 1)) + 1> all{};
  std::size_t at = 0;
  const auto append = [&](const char* part, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) all[at++] = part[i];
  };
  (append(parts, N - 1), ...);
  return all;
}

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
#define WEIR_JOIN(a, b, c, d) WEIR_JOIN_NOW(a, b, c, d)
namespace weir_narrow {
// Rounds to a float that will be rounded to 16 bits. If it is not exact, its last bit is 1, so that the result is that of a
// single rounding. A double is not converted directly, because compilers would call a function of the other compiler's
// library, which returns its result in another register.
WEIR_N float odd(double v) {
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
WEIR_N double exact(int a) { return a; }
WEIR_N double exact(unsigned int a) { return a; }
WEIR_N double exact(unsigned long long a) {
  return (double)(a >> 53 == 0 ? a : (a & ~0xfffull) | (unsigned long long)((a & 0xfff) != 0) << 12);
}
WEIR_N double exact(long long a) {
  return a < 0 ? -exact(0 - (unsigned long long)a) : exact((unsigned long long)a);
}
// The next number in a direction. Used if rounding to even went in the other direction.
template <class T>
WEIR_N T next(T a, bool up) {
  unsigned short u;
  __builtin_memcpy(&u, &a, 2);
  u = (unsigned short)((u & 0x7fffu) == 0 ? (up ? 0x0001u : 0x8001u) : ((u >> 15) != 0) == up ? u - 1u : u + 1u);
  __builtin_memcpy((void*)&a, &u, 2);
  return a;
}
template <class T>
WEIR_N T rn(double v) { return T(v); }
template <class T>
WEIR_N T rd(double v) { const T a(v); return (double)(float)a > v ? next(a, false) : a; }
template <class T>
WEIR_N T ru(double v) { const T a(v); return (double)(float)a < v ? next(a, true) : a; }
template <class T>
WEIR_N T rz(double v) { return v < 0 ? ru<T>(v) : rd<T>(v); }
template <class T>
WEIR_N T saturated(double v) { return T(v >= 0 ? (v < 1 ? v : 1.0) : 0.0); }
// Return the nearest number in the range, like the processors' instructions.
WEIR_N int fit(int a, int least, int most) { return a < least ? least : a > most ? most : a; }
WEIR_N unsigned int fit(unsigned int a, unsigned int most) { return a > most ? most : a; }
}  // namespace weir_narrow
#endif
)weir";

/// The members of the type WEIR_T, which has a constructor from float and a conversion to float.
inline constexpr char narrow_members[] = R"weir(
#define WEIR_T2 WEIR_JOIN(WEIR_T, 2,,)
#define WEIR_RAW WEIR_JOIN(WEIR_T, _raw,,)
#define WEIR_RAW2 WEIR_JOIN(WEIR_T, 2_raw,,)
  WEIR_T() = default;
  WEIR_N_MEMBER WEIR_T(const WEIR_RAW& r) { __builtin_memcpy((void*)this, &r, 2); }
  WEIR_N_MEMBER operator WEIR_RAW() const { WEIR_RAW r; __builtin_memcpy(&r, this, 2); return r; }
  WEIR_N_MEMBER WEIR_T(double v) : WEIR_T(weir_narrow::odd(v)) {}
  WEIR_N_MEMBER WEIR_T(int v) : WEIR_T((double)v) {}
  WEIR_N_MEMBER WEIR_T(unsigned int v) : WEIR_T((double)v) {}
  WEIR_N_MEMBER WEIR_T(short v) : WEIR_T((float)v) {}
  WEIR_N_MEMBER WEIR_T(unsigned short v) : WEIR_T((float)v) {}
  WEIR_N_MEMBER WEIR_T(long v) : WEIR_T(weir_narrow::exact((long long)v)) {}
  WEIR_N_MEMBER WEIR_T(unsigned long v) : WEIR_T(weir_narrow::exact((unsigned long long)v)) {}
  WEIR_N_MEMBER WEIR_T(long long v) : WEIR_T(weir_narrow::exact(v)) {}
  WEIR_N_MEMBER WEIR_T(unsigned long long v) : WEIR_T(weir_narrow::exact(v)) {}
)weir";

/// The functions for the type WEIR_T. WEIR_WORD is the type's name within names of functions; WEIR_INFINITY is the type's
/// infinity.
inline constexpr char narrow_functions[] = R"weir(
struct alignas(4) WEIR_RAW2 {
  unsigned short x, y;
};
struct alignas(4) WEIR_T2 {
  WEIR_T x, y;
  WEIR_T2() = default;
  WEIR_N_MEMBER WEIR_T2(WEIR_T a, WEIR_T b) : x(a), y(b) {}
  WEIR_N_MEMBER WEIR_T2(const WEIR_RAW2& r) { __builtin_memcpy((void*)this, &r, 4); }
  WEIR_N_MEMBER operator WEIR_RAW2() const { WEIR_RAW2 r; __builtin_memcpy(&r, this, 4); return r; }
};
#define WEIR_OF(end) WEIR_JOIN(__, WEIR_WORD, end,)
#define WEIR_TO(begin, end) WEIR_JOIN(__, begin, WEIR_WORD, end)
#define WEIR_OF_BITS WEIR_TO(ushort_as_,)
WEIR_N unsigned short WEIR_OF(_as_ushort)(WEIR_T a) { unsigned short u; __builtin_memcpy(&u, &a, 2); return u; }
WEIR_N WEIR_T WEIR_OF_BITS(unsigned short u) { WEIR_T a; __builtin_memcpy((void*)&a, &u, 2); return a; }
WEIR_N short WEIR_OF(_as_short)(WEIR_T a) { return (short)WEIR_OF(_as_ushort)(a); }
WEIR_N WEIR_T WEIR_TO(short_as_,)(short s) { return WEIR_OF_BITS((unsigned short)s); }

WEIR_N float WEIR_OF(2float)(WEIR_T a) { return (float)a; }
WEIR_N WEIR_T WEIR_TO(float2,)(float a) { return WEIR_T(a); }
WEIR_N WEIR_T WEIR_TO(float2, _rn)(float a) { return WEIR_T(a); }
WEIR_N WEIR_T WEIR_TO(float2, _rz)(float a) { return weir_narrow::rz<WEIR_T>(a); }
WEIR_N WEIR_T WEIR_TO(float2, _rd)(float a) { return weir_narrow::rd<WEIR_T>(a); }
WEIR_N WEIR_T WEIR_TO(float2, _ru)(float a) { return weir_narrow::ru<WEIR_T>(a); }
WEIR_N WEIR_T WEIR_TO(double2,)(double a) { return WEIR_T(a); }
#define WEIR_CONVERSION(name, type, way) \
  WEIR_N WEIR_T WEIR_TO(name##2, _##way)(type a) { return weir_narrow::way<WEIR_T>(weir_narrow::exact(a)); } \
  WEIR_N type WEIR_OF(2##name##_##way)(WEIR_T a) { return __float2##name##_##way((float)a); }
#define WEIR_CONVERSIONS(way) \
  WEIR_CONVERSION(int, int, way) \
  WEIR_CONVERSION(uint, unsigned int, way) \
  WEIR_CONVERSION(ll, long long, way) \
  WEIR_CONVERSION(ull, unsigned long long, way) \
  WEIR_N WEIR_T WEIR_TO(short2, _##way)(short a) { return weir_narrow::way<WEIR_T>(a); } \
  WEIR_N WEIR_T WEIR_TO(ushort2, _##way)(unsigned short a) { return weir_narrow::way<WEIR_T>(a); } \
  WEIR_N short WEIR_OF(2short_##way)(WEIR_T a) { \
    return (short)weir_narrow::fit(__float2int_##way((float)a), -32768, 32767); \
  } \
  WEIR_N unsigned short WEIR_OF(2ushort_##way)(WEIR_T a) { \
    return (unsigned short)weir_narrow::fit(__float2uint_##way((float)a), 65535u); \
  }
WEIR_CONVERSIONS(rn)
WEIR_CONVERSIONS(rz)
WEIR_CONVERSIONS(rd)
WEIR_CONVERSIONS(ru)
#undef WEIR_CONVERSIONS
#undef WEIR_CONVERSION
WEIR_N signed char WEIR_OF(2char_rz)(WEIR_T a) {
  return (signed char)weir_narrow::fit(__float2int_rz((float)a), -128, 127);
}
WEIR_N unsigned char WEIR_OF(2uchar_rz)(WEIR_T a) {
  return (unsigned char)weir_narrow::fit(__float2uint_rz((float)a), 255u);
}

WEIR_N WEIR_T2 WEIR_JOIN(make_, WEIR_WORD, 2,)(WEIR_T a, WEIR_T b) { return WEIR_T2(a, b); }
WEIR_N WEIR_T2 WEIR_TO(halves2, 2)(WEIR_T a, WEIR_T b) { return WEIR_T2(a, b); }
WEIR_N WEIR_T2 WEIR_JOIN(WEIR_OF(2), WEIR_WORD, 2,)(WEIR_T a) { return WEIR_T2(a, a); }
WEIR_N WEIR_T2 WEIR_TO(float2, 2_rn)(float a) { return WEIR_T2(WEIR_T(a), WEIR_T(a)); }
WEIR_N WEIR_T2 WEIR_TO(floats2, 2_rn)(float a, float b) { return WEIR_T2(WEIR_T(a), WEIR_T(b)); }
WEIR_N WEIR_T2 WEIR_TO(float22, 2_rn)(float2 a) { return WEIR_T2(WEIR_T(a.x), WEIR_T(a.y)); }
WEIR_N float2 WEIR_OF(22float2)(WEIR_T2 a) { return make_float2((float)a.x, (float)a.y); }
WEIR_N WEIR_T WEIR_TO(low2,)(WEIR_T2 a) { return a.x; }
WEIR_N WEIR_T WEIR_TO(high2,)(WEIR_T2 a) { return a.y; }
WEIR_N float __low2float(WEIR_T2 a) { return (float)a.x; }
WEIR_N float __high2float(WEIR_T2 a) { return (float)a.y; }
WEIR_N WEIR_T2 WEIR_TO(low2, 2)(WEIR_T2 a) { return WEIR_T2(a.x, a.x); }
WEIR_N WEIR_T2 WEIR_TO(high2, 2)(WEIR_T2 a) { return WEIR_T2(a.y, a.y); }
WEIR_N WEIR_T2 __lowhigh2highlow(WEIR_T2 a) { return WEIR_T2(a.y, a.x); }
WEIR_N WEIR_T2 WEIR_TO(lows2, 2)(WEIR_T2 a, WEIR_T2 b) { return WEIR_T2(a.x, b.x); }
WEIR_N WEIR_T2 WEIR_TO(highs2, 2)(WEIR_T2 a, WEIR_T2 b) { return WEIR_T2(a.y, b.y); }

#define WEIR_PAIRS(name, name2) \
  WEIR_N WEIR_T2 name2(WEIR_T2 a, WEIR_T2 b) { return WEIR_T2(name(a.x, b.x), name(a.y, b.y)); }
#define WEIR_OPERATOR(name, name2, op) \
  WEIR_N WEIR_T name(WEIR_T a, WEIR_T b) { return WEIR_T((float)a op (float)b); } \
  WEIR_PAIRS(name, name2) \
  WEIR_N WEIR_T operator op(WEIR_T a, WEIR_T b) { return name(a, b); } \
  WEIR_N WEIR_T& operator op##=(WEIR_T& a, WEIR_T b) { return a = name(a, b); } \
  WEIR_N WEIR_T2 operator op(WEIR_T2 a, WEIR_T2 b) { return name2(a, b); } \
  WEIR_N WEIR_T2& operator op##=(WEIR_T2& a, WEIR_T2 b) { return a = name2(a, b); }
#define WEIR_ARITHMETIC(name, op) \
  WEIR_OPERATOR(name, name##2, op) \
  WEIR_N WEIR_T name##_rn(WEIR_T a, WEIR_T b) { return name(a, b); } \
  WEIR_N WEIR_T name##_sat(WEIR_T a, WEIR_T b) { return weir_narrow::saturated<WEIR_T>((float)a op (float)b); } \
  WEIR_PAIRS(name, name##2_rn) \
  WEIR_PAIRS(name##_sat, name##2_sat)
WEIR_ARITHMETIC(__hadd, +)
WEIR_ARITHMETIC(__hsub, -)
WEIR_ARITHMETIC(__hmul, *)
WEIR_OPERATOR(__hdiv, __h2div, /)
#undef WEIR_ARITHMETIC
#undef WEIR_OPERATOR
WEIR_N WEIR_T __hneg(WEIR_T a) { return WEIR_OF_BITS((unsigned short)(WEIR_OF(_as_ushort)(a) ^ 0x8000u)); }
WEIR_N WEIR_T __habs(WEIR_T a) { return WEIR_OF_BITS((unsigned short)(WEIR_OF(_as_ushort)(a) & 0x7fffu)); }
WEIR_N WEIR_T2 __hneg2(WEIR_T2 a) { return WEIR_T2(__hneg(a.x), __hneg(a.y)); }
WEIR_N WEIR_T2 __habs2(WEIR_T2 a) { return WEIR_T2(__habs(a.x), __habs(a.y)); }
WEIR_N WEIR_T operator-(WEIR_T a) { return __hneg(a); }
WEIR_N WEIR_T operator+(WEIR_T a) { return a; }
WEIR_N WEIR_T2 operator-(WEIR_T2 a) { return __hneg2(a); }
WEIR_N WEIR_T& operator++(WEIR_T& a) { return a = __hadd(a, WEIR_T(1.0f)); }
WEIR_N WEIR_T& operator--(WEIR_T& a) { return a = __hsub(a, WEIR_T(1.0f)); }
WEIR_N bool __hisnan(WEIR_T a) { return (WEIR_OF(_as_ushort)(a) & 0x7fffu) > WEIR_INFINITY; }
WEIR_N WEIR_T2 __hisnan2(WEIR_T2 a) {
  return WEIR_T2(WEIR_T(__hisnan(a.x) ? 1.0f : 0.0f), WEIR_T(__hisnan(a.y) ? 1.0f : 0.0f));
}
WEIR_N int __hisinf(WEIR_T a) {
  const unsigned int u = WEIR_OF(_as_ushort)(a);
  return (u & 0x7fffu) != WEIR_INFINITY ? 0 : u >> 15 ? -1 : 1;
}
WEIR_N WEIR_T __hmax(WEIR_T a, WEIR_T b) { return __hisnan(a) || (float)a < (float)b ? b : a; }
WEIR_N WEIR_T __hmin(WEIR_T a, WEIR_T b) { return __hisnan(a) || (float)b < (float)a ? b : a; }
WEIR_N WEIR_T __hmax_nan(WEIR_T a, WEIR_T b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
WEIR_N WEIR_T __hmin_nan(WEIR_T a, WEIR_T b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }
WEIR_PAIRS(__hmax, __hmax2)
WEIR_PAIRS(__hmin, __hmin2)
WEIR_PAIRS(__hmax_nan, __hmax2_nan)
WEIR_PAIRS(__hmin_nan, __hmin2_nan)
#undef WEIR_PAIRS
// The product is exact in double, and so is the sum unless one is much smaller than the other.
#define WEIR_FUSED(end, expression) \
  WEIR_N WEIR_T __hfma##end(WEIR_T a, WEIR_T b, WEIR_T c) { \
    const double v = (double)(float)a * (double)(float)b + (double)(float)c; \
    return expression; \
  } \
  WEIR_N WEIR_T2 __hfma2##end(WEIR_T2 a, WEIR_T2 b, WEIR_T2 c) { \
    return WEIR_T2(__hfma##end(a.x, b.x, c.x), __hfma##end(a.y, b.y, c.y)); \
  }
WEIR_FUSED(, WEIR_T(v))
WEIR_FUSED(_sat, weir_narrow::saturated<WEIR_T>(v))
WEIR_FUSED(_relu, __hmax_nan(WEIR_T(v), WEIR_T(0.0f)))
#undef WEIR_FUSED
WEIR_N WEIR_T2 __hcmadd(WEIR_T2 a, WEIR_T2 b, WEIR_T2 c) {
  return WEIR_T2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

#define WEIR_COMPARE(name, expression) \
  WEIR_N bool __h##name(WEIR_T ha, WEIR_T hb) { const float a = (float)ha, b = (float)hb; return expression; } \
  WEIR_N bool __hb##name##2(WEIR_T2 a, WEIR_T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
  WEIR_N unsigned int __h##name##2_mask(WEIR_T2 a, WEIR_T2 b) { \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0); \
  } \
  WEIR_N WEIR_T2 __h##name##2(WEIR_T2 a, WEIR_T2 b) { \
    return WEIR_T2(WEIR_T(__h##name(a.x, b.x) ? 1.0f : 0.0f), WEIR_T(__h##name(a.y, b.y) ? 1.0f : 0.0f)); \
  }
#define WEIR_COMPARE_OPERATOR(op, name) \
  WEIR_N bool operator op(WEIR_T a, WEIR_T b) { return __h##name(a, b); } \
  WEIR_N bool operator op(WEIR_T2 a, WEIR_T2 b) { return __hb##name##2(a, b); }
// Functions whose name ends in `u` return true if an operand is NaN.
WEIR_COMPARE(eq, a == b)
WEIR_COMPARE(ne, a < b || a > b)
WEIR_COMPARE(lt, a < b)
WEIR_COMPARE(le, a <= b)
WEIR_COMPARE(gt, a > b)
WEIR_COMPARE(ge, a >= b)
WEIR_COMPARE(equ, !(a < b || a > b))
WEIR_COMPARE(neu, a != b)
WEIR_COMPARE(ltu, !(a >= b))
WEIR_COMPARE(leu, !(a > b))
WEIR_COMPARE(gtu, !(a <= b))
WEIR_COMPARE(geu, !(a < b))
WEIR_COMPARE_OPERATOR(==, eq)
WEIR_COMPARE_OPERATOR(!=, neu)
WEIR_COMPARE_OPERATOR(<, lt)
WEIR_COMPARE_OPERATOR(<=, le)
WEIR_COMPARE_OPERATOR(>, gt)
WEIR_COMPARE_OPERATOR(>=, ge)
#undef WEIR_COMPARE_OPERATOR
#undef WEIR_COMPARE

#define WEIR_MATH(name, expression) \
  WEIR_N WEIR_T h##name(WEIR_T h) { const float a = (float)h; return WEIR_T(expression); } \
  WEIR_N WEIR_T2 h2##name(WEIR_T2 h) { return WEIR_T2(h##name(h.x), h##name(h.y)); }
WEIR_MATH(sqrt, sqrtf(a))
WEIR_MATH(rsqrt, 1.0f / sqrtf(a))
WEIR_MATH(rcp, 1.0f / a)
WEIR_MATH(exp, expf(a))
WEIR_MATH(exp2, exp2f(a))
WEIR_MATH(exp10, powf(10.0f, a))
WEIR_MATH(log, logf(a))
WEIR_MATH(log2, log2f(a))
WEIR_MATH(log10, log10f(a))
WEIR_MATH(sin, sinf(a))
WEIR_MATH(cos, cosf(a))
WEIR_MATH(floor, floorf(a))
WEIR_MATH(ceil, ceilf(a))
WEIR_MATH(trunc, truncf(a))
WEIR_MATH(rint, rintf(a))
WEIR_MATH(tanh, tanhf(a))
WEIR_MATH(tanh_approx, tanhf(a))
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
WEIR_ADDS WEIR_N WEIR_T atomicAdd(WEIR_T* p, WEIR_T v) {
  return weir_host::atomic_update(p, [v](WEIR_T old) { return __hadd(old, v); });
}
WEIR_ADDS WEIR_N WEIR_T2 atomicAdd(WEIR_T2* p, WEIR_T2 v) {
  return weir_host::atomic_update(p, [v](WEIR_T2 old) { return __hadd2(old, v); });
}
#undef WEIR_ADDS
#undef WEIR_UPDATE_NAME
#undef WEIR_UPDATE_NAME_OF
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
)weir";

}  // namespace weir::kernels
