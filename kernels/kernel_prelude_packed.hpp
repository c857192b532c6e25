// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// CUDA intrinsics that few kernels use: arithmetic on 8-bit and 16-bit numbers packed into 32 bits, sums and products with
/// directed rounding, and Bessel functions.
namespace weir::host {

/// This text follows `prelude_math` and is compiled as C++14. The rest of the prelude does not use it. The names of its
/// functions begin with `__` or `cyl_`, so a source without such names is compiled without this text.
inline constexpr std::string_view prelude_packed = R"weir(
#define WEIR_FUNCTION WEIR_BOTH static inline __attribute__((always_inline, unused))
namespace weir_host {
template <class T>
WEIR_FUNCTION T packed(unsigned int x, int i) {
  return (T)(x >> (int)sizeof(T) * 8 * i);
}
template <class T>
WEIR_FUNCTION int fit(int x) {
  constexpr int most = (T)-1 < 0 ? (1 << (sizeof(T) * 8 - 1)) - 1 : (1 << sizeof(T) * 8) - 1;
  constexpr int least = (T)-1 < 0 ? -most - 1 : 0;
  return x < least ? least : x > most ? most : x;
}
template <class T, class F>
WEIR_FUNCTION unsigned int for_packed(unsigned int a, unsigned int b, F f) {
  constexpr unsigned int ones = sizeof(T) == 1 ? 0xffu : 0xffffu;
  unsigned int result = 0;
  for (int i = 0; i < 4 / (int)sizeof(T); ++i)
    result |= ((unsigned int)f((int)packed<T>(a, i), (int)packed<T>(b, i)) & ones) << (int)sizeof(T) * 8 * i;
  return result;
}
}  // namespace weir_host

// --- Packed numbers, signed and unsigned
#define WEIR_PACKED_AS(name, parameters, b, type, expression)                                         \
  WEIR_FUNCTION unsigned int name parameters {                                                        \
    using T = type;                                                                                   \
    return weir_host::for_packed<T>(a, b, [](int x, int y) { (void)sizeof(T), (void)y; return expression; }); \
  }
#define WEIR_PACKED_S(name, expression)                                                               \
  WEIR_PACKED_AS(name##2, (unsigned int a, unsigned int b), b, short, expression)                     \
  WEIR_PACKED_AS(name##4, (unsigned int a, unsigned int b), b, signed char, expression)
#define WEIR_PACKED_U(name, expression)                                                               \
  WEIR_PACKED_AS(name##2, (unsigned int a, unsigned int b), b, unsigned short, expression)            \
  WEIR_PACKED_AS(name##4, (unsigned int a, unsigned int b), b, unsigned char, expression)
#define WEIR_PACKED_ONE(name, expression)                                                             \
  WEIR_PACKED_AS(name##2, (unsigned int a), 0, short, expression)                                     \
  WEIR_PACKED_AS(name##4, (unsigned int a), 0, signed char, expression)
WEIR_PACKED_U(__vadd, x + y)
WEIR_PACKED_S(__vaddss, weir_host::fit<T>(x + y))
WEIR_PACKED_U(__vaddus, weir_host::fit<T>(x + y))
WEIR_PACKED_U(__vsub, x - y)
WEIR_PACKED_S(__vsubss, weir_host::fit<T>(x - y))
WEIR_PACKED_U(__vsubus, weir_host::fit<T>(x - y))
WEIR_PACKED_S(__vavgs, (x + y + (x + y >= 0)) >> 1)
WEIR_PACKED_U(__vavgu, (x + y + 1) >> 1)
WEIR_PACKED_U(__vhaddu, (x + y) >> 1)
WEIR_PACKED_S(__vmaxs, x < y ? y : x)
WEIR_PACKED_U(__vmaxu, x < y ? y : x)
WEIR_PACKED_S(__vmins, y < x ? y : x)
WEIR_PACKED_U(__vminu, y < x ? y : x)
WEIR_PACKED_S(__vabsdiffs, x < y ? y - x : x - y)
WEIR_PACKED_U(__vabsdiffu, x < y ? y - x : x - y)
#define WEIR_PACKED_COMPARE(name, op, packed)           \
  packed(__vcmp##name, x op y ? -1 : 0)                 \
  packed(__vset##name, x op y ? 1 : 0)
WEIR_PACKED_COMPARE(eq, ==, WEIR_PACKED_U)
WEIR_PACKED_COMPARE(ne, !=, WEIR_PACKED_U)
WEIR_PACKED_COMPARE(ges, >=, WEIR_PACKED_S)
WEIR_PACKED_COMPARE(geu, >=, WEIR_PACKED_U)
WEIR_PACKED_COMPARE(gts, >, WEIR_PACKED_S)
WEIR_PACKED_COMPARE(gtu, >, WEIR_PACKED_U)
WEIR_PACKED_COMPARE(les, <=, WEIR_PACKED_S)
WEIR_PACKED_COMPARE(leu, <=, WEIR_PACKED_U)
WEIR_PACKED_COMPARE(lts, <, WEIR_PACKED_S)
WEIR_PACKED_COMPARE(ltu, <, WEIR_PACKED_U)
WEIR_PACKED_ONE(__vabs, x < 0 ? -x : x)
WEIR_PACKED_ONE(__vabsss, weir_host::fit<T>(x < 0 ? -x : x))
WEIR_PACKED_ONE(__vneg, -x)
WEIR_PACKED_ONE(__vnegss, weir_host::fit<T>(-x))
#undef WEIR_PACKED_COMPARE
#undef WEIR_PACKED_ONE
#undef WEIR_PACKED_U
#undef WEIR_PACKED_S
#undef WEIR_PACKED_AS
#define WEIR_PACKED_SUM(name, type)                                        \
  WEIR_FUNCTION unsigned int name(unsigned int a, unsigned int b) {        \
    unsigned int sum = 0;                                                  \
    for (int i = 0; i < 4 / (int)sizeof(type); ++i) {                      \
      const int x = weir_host::packed<type>(a, i), y = weir_host::packed<type>(b, i); \
      sum += (unsigned int)(x < y ? y - x : x - y);                        \
    }                                                                      \
    return sum;                                                            \
  }
WEIR_PACKED_SUM(__vsads2, short)
WEIR_PACKED_SUM(__vsadu2, unsigned short)
WEIR_PACKED_SUM(__vsads4, signed char)
WEIR_PACKED_SUM(__vsadu4, unsigned char)
#undef WEIR_PACKED_SUM

// --- Dot products of packed numbers
#define WEIR_DOT(type, wide, narrow, number4, number2)                                                            \
  WEIR_FUNCTION type __dp4a(type a, type b, type c) {                                                             \
    unsigned int sum = (unsigned int)c;                                                                           \
    for (int i = 0; i < 4; ++i)                                                                                   \
      sum += (unsigned int)((int)weir_host::packed<narrow>((unsigned int)a, i) *                                  \
                            (int)weir_host::packed<narrow>((unsigned int)b, i));                                  \
    return (type)sum;                                                                                             \
  }                                                                                                               \
  WEIR_FUNCTION type __dp4a(number4 a, number4 b, type c) {                                                       \
    return (type)((unsigned int)c + (unsigned int)(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w));               \
  }                                                                                                               \
  WEIR_FUNCTION type __dp2a_lo(type a, type b, type c) {                                                          \
    return (type)((unsigned int)c +                                                                               \
                  (unsigned int)((int)weir_host::packed<wide>((unsigned int)a, 0) *                               \
                                 (int)weir_host::packed<narrow>((unsigned int)b, 0)) +                            \
                  (unsigned int)((int)weir_host::packed<wide>((unsigned int)a, 1) *                               \
                                 (int)weir_host::packed<narrow>((unsigned int)b, 1)));                            \
  }                                                                                                               \
  WEIR_FUNCTION type __dp2a_hi(type a, type b, type c) { return __dp2a_lo(a, (type)((unsigned int)b >> 16), c); } \
  WEIR_FUNCTION type __dp2a_lo(number2 a, number4 b, type c) {                                                    \
    return (type)((unsigned int)c + (unsigned int)(a.x * b.x + a.y * b.y));                                       \
  }                                                                                                               \
  WEIR_FUNCTION type __dp2a_hi(number2 a, number4 b, type c) {                                                    \
    return (type)((unsigned int)c + (unsigned int)(a.x * b.z + a.y * b.w));                                       \
  }
WEIR_DOT(int, short, signed char, char4, short2)
WEIR_DOT(unsigned int, unsigned short, unsigned char, uchar4, ushort2)
#undef WEIR_DOT

// --- Rounded in a direction: first to a double, whose last bit is set if digits were cut off, then to a float
namespace weir_host {
WEIR_FUNCTION double cut(double value, double rest) {
  if (!(rest < 0 || rest > 0) || !(__builtin_fabs(value) < __builtin_huge_val())) return value;  // also for NaN
  long long bits;
  __builtin_memcpy(&bits, &value, 8);
  if ((rest > 0) != (value > 0)) --bits;
  bits |= 1;
  __builtin_memcpy(&value, &bits, 8);
  return value;
}
WEIR_FUNCTION double cut_sum(double a, double b) {
  const volatile double sum = a + b, part = sum - a;  // volatile, so that fast arithmetic does not simplify this
  return cut(sum, (a - (sum - part)) + (b - part));
}
WEIR_FUNCTION double cut_quotient(double a, double b) {
  const double q = a / b, rest = __builtin_fma(-q, b, a);
  return cut(q, b > 0 ? rest : -rest);
}
WEIR_FUNCTION double cut_root(double a) {
  const double q = __builtin_sqrt(a);
  return cut(q, __builtin_fma(-q, q, a));
}
WEIR_FUNCTION float step(float f, int by) {
  int bits;
  __builtin_memcpy(&bits, &f, 4);
  bits += by;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
WEIR_FUNCTION float rounded_rz(double v) {
  const float f = (float)v;
  return __builtin_fabs((double)f) > __builtin_fabs(v) ? step(f, -1) : f;
}
WEIR_FUNCTION float rounded_ru(double v) {
  const float f = (float)v;
  return (double)f < v ? step(f, __builtin_signbit(f) ? -1 : 1) : f;
}
WEIR_FUNCTION float rounded_rd(double v) {
  const float f = (float)v;
  return (double)f > v ? step(f, __builtin_signbit(f) ? 1 : -1) : f;
}
}  // namespace weir_host
#define WEIR_DIRECTED(way)                                                                                             \
  WEIR_FUNCTION float __fadd_##way(float a, float b) { return weir_host::rounded_##way(weir_host::cut_sum(a, b)); }    \
  WEIR_FUNCTION float __fsub_##way(float a, float b) { return weir_host::rounded_##way(weir_host::cut_sum(a, -b)); }   \
  WEIR_FUNCTION float __fmul_##way(float a, float b) { return weir_host::rounded_##way((double)a * b); }               \
  WEIR_FUNCTION float __fdiv_##way(float a, float b) { return weir_host::rounded_##way(weir_host::cut_quotient(a, b)); } \
  WEIR_FUNCTION float __frcp_##way(float x) { return weir_host::rounded_##way(weir_host::cut_quotient(1, x)); }        \
  WEIR_FUNCTION float __fsqrt_##way(float x) { return weir_host::rounded_##way(weir_host::cut_root(x)); }              \
  WEIR_FUNCTION float __fmaf_##way(float a, float b, float c) {                                                        \
    return weir_host::rounded_##way(weir_host::cut_sum((double)a * b, c));                                             \
  }                                                                                                                    \
  WEIR_FUNCTION float __double2float_##way(double x) { return weir_host::rounded_##way(x); }                           \
  WEIR_FUNCTION float __int2float_##way(int x) { return weir_host::rounded_##way(x); }                                 \
  WEIR_FUNCTION float __uint2float_##way(unsigned int x) { return weir_host::rounded_##way(x); }
WEIR_DIRECTED(rz)
WEIR_DIRECTED(ru)
WEIR_DIRECTED(rd)
#undef WEIR_DIRECTED

#ifndef WEIR_GPU
// --- Doubles rounded in a direction: by the processor, whose mode is set for one operation. What is volatile stays between.
#define WEIR_ROUNDED(type, name, parameters, copies, operation, mode) \
  WEIR_FUNCTION type name parameters {                                \
    const int before = fegetround();                                  \
    volatile copies;                                                  \
    fesetround(mode);                                                 \
    const volatile type result = operation;                           \
    fesetround(before);                                               \
    return result;                                                    \
  }
#define WEIR_DIRECTED(way, mode)                                                                                          \
  WEIR_ROUNDED(double, __dadd_##way, (double a, double b), double x = a WEIR_COMMA y = b, x + y, mode)                    \
  WEIR_ROUNDED(double, __dsub_##way, (double a, double b), double x = a WEIR_COMMA y = b, x - y, mode)                    \
  WEIR_ROUNDED(double, __dmul_##way, (double a, double b), double x = a WEIR_COMMA y = b, x * y, mode)                    \
  WEIR_ROUNDED(double, __ddiv_##way, (double a, double b), double x = a WEIR_COMMA y = b, x / y, mode)                    \
  WEIR_ROUNDED(double, __drcp_##way, (double a), double x = a, 1.0 / x, mode)                                             \
  WEIR_ROUNDED(double, __dsqrt_##way, (double a), double x = a, __builtin_sqrt(x), mode)                                  \
  WEIR_ROUNDED(double, __fma_##way, (double a, double b, double c), double x = a WEIR_COMMA y = b WEIR_COMMA z = c,       \
               __builtin_fma(x, y, z), mode)                                                                              \
  WEIR_ROUNDED(float, __ll2float_##way, (long long a), long long x = a, (float)x, mode)                                   \
  WEIR_ROUNDED(float, __ull2float_##way, (unsigned long long a), unsigned long long x = a, (float)x, mode)                \
  WEIR_ROUNDED(double, __ll2double_##way, (long long a), long long x = a, (double)x, mode)                                \
  WEIR_ROUNDED(double, __ull2double_##way, (unsigned long long a), unsigned long long x = a, (double)x, mode)
#define WEIR_COMMA ,
WEIR_DIRECTED(rz, WEIR_TOWARDZERO)
WEIR_DIRECTED(ru, WEIR_UPWARD)
WEIR_DIRECTED(rd, WEIR_DOWNWARD)
#undef WEIR_COMMA
#undef WEIR_DIRECTED
#undef WEIR_ROUNDED
#endif

// --- Bessel's functions of an imaginary argument, by their series, all of whose terms have one sign
WEIR_BOTH static inline __attribute__((unused)) double cyl_bessel_i0(double x) {
  double term = 1, sum = 1;
  for (double k = 1; term > 1e-17 * sum && sum < 1e308; ++k) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}
WEIR_BOTH static inline __attribute__((unused)) double cyl_bessel_i1(double x) {
  double term = 1, sum = 1;
  for (double k = 1; term > 1e-17 * sum && sum < 1e308; ++k) {
    term *= x / (2 * k) * (x / (2 * (k + 1)));
    sum += term;
  }
  return x / 2 * sum;
}
WEIR_FUNCTION float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0(x); }
WEIR_FUNCTION float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1(x); }
#undef WEIR_FUNCTION
)weir";

}  // namespace weir::host
