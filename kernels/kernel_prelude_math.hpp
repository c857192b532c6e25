// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The mathematical functions and intrinsics that CUDA C++ and HIP C++ share and that <math.h> lacks. The text is compiled
/// as C++14, 17 or 20.
namespace weir::host {

inline constexpr std::string_view prelude_math = R"weir(
#define WEIR_FUNCTION WEIR_BOTH static inline __attribute__((always_inline, unused))
#define WEIR_C_FUNCTION WEIR_DEVICE inline __attribute__((always_inline))

// --- Smaller and greater. As in C, a NaN loses against a number; unlike the C library's, these vectorize.
extern "C" {
WEIR_C_FUNCTION float fminf(float a, float b) noexcept { return b != b ? a : a < b ? a : b; }
WEIR_C_FUNCTION float fmaxf(float a, float b) noexcept { return b != b ? a : a > b ? a : b; }
}
#define WEIR_MIN_MAX(result, a_type, b_type)                                                               \
  WEIR_FUNCTION constexpr result min(a_type a, b_type b) { return (result)a < (result)b ? (result)a : (result)b; } \
  WEIR_FUNCTION constexpr result max(a_type a, b_type b) { return (result)a > (result)b ? (result)a : (result)b; }
#define WEIR_MIN_MAX_MIXED(s, u) WEIR_MIN_MAX(s, s, s) WEIR_MIN_MAX(u, u, u) WEIR_MIN_MAX(u, s, u) WEIR_MIN_MAX(u, u, s)
WEIR_MIN_MAX_MIXED(int, unsigned int)
WEIR_MIN_MAX_MIXED(long, unsigned long)
WEIR_MIN_MAX_MIXED(long long, unsigned long long)
#undef WEIR_MIN_MAX_MIXED
#undef WEIR_MIN_MAX
#define WEIR_MIN_MAX(type)                                                                                  \
  WEIR_FUNCTION constexpr type min(type a, type b) { return b != b ? a : a < b ? a : b; }                   \
  WEIR_FUNCTION constexpr type max(type a, type b) { return b != b ? a : a > b ? a : b; }
WEIR_MIN_MAX(float)
WEIR_MIN_MAX(double)
#undef WEIR_MIN_MAX
WEIR_FUNCTION constexpr double min(float a, double b) { return min((double)a, b); }
WEIR_FUNCTION constexpr double min(double a, float b) { return min(a, (double)b); }
WEIR_FUNCTION constexpr double max(float a, double b) { return max((double)a, b); }
WEIR_FUNCTION constexpr double max(double a, float b) { return max(a, (double)b); }
WEIR_FUNCTION constexpr unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
WEIR_FUNCTION constexpr unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
WEIR_FUNCTION constexpr long long llmin(long long a, long long b) { return min(a, b); }
WEIR_FUNCTION constexpr long long llmax(long long a, long long b) { return max(a, b); }
WEIR_FUNCTION constexpr unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
WEIR_FUNCTION constexpr unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

// --- Functions that the C library does not have. From 2.41 on glibc has those of C23; here they are as it declares them.
extern "C" {
WEIR_C_FUNCTION float rsqrtf(float x) noexcept { return 1.0f / sqrtf(x); }
WEIR_C_FUNCTION double rsqrt(double x) noexcept { return 1.0 / sqrt(x); }
}
WEIR_FUNCTION float rsqrt(float x) { return 1.0f / sqrtf(x); }
WEIR_FUNCTION float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }
// The C library's cbrt has errors of up to 4 ulp, so one step of Newton's method corrects the reciprocal. The products x y
// and y y are computed together with their rounding errors.
WEIR_FUNCTION double rcbrt(double x) {
  const double y = 1.0 / cbrt(x), p = x * y, q = y * y;
  const double rest = __builtin_fma(-p, q, 1.0) - (__builtin_fma(x, y, -p) * q + p * __builtin_fma(y, y, -q));
  return rest > -0.5 && rest < 0.5 ? y + y * rest * (1.0 / 3.0) : y;  // not for zeros, infinities and NaN
}
// sin(pi x) and cos(pi x), exact at multiples of 1/2: subtract the nearest zero from the argument, then multiply by pi.
// `is_odd_number`: numbers from 2^53 on are all even.
namespace weir_host {
template <class T>
WEIR_BOTH inline bool is_odd_number(T n) {
  return n - (T)2 * __builtin_trunc(n * (T)0.5) != (T)0;
}
WEIR_BOTH inline float nearest(float x) { return rintf(x); }
WEIR_BOTH inline double nearest(double x) { return rint(x); }
// sin(pi r) for |r| <= 1/2.
WEIR_BOTH inline float sine_of_part(float r) { return (float)sin((double)r * 3.14159265358979324); }
WEIR_BOTH inline double sine_of_part(double r) {
  const double high = r * 3.14159265358979324,
               low = __builtin_fma(r, 3.14159265358979324, -high) + r * 1.2246467991473532e-16;
  return sin(high) + low * cos(high);
}
template <class T>
WEIR_BOTH inline T sine_of_pi(T x) {
  const T n = nearest(x), r = x - n;
  if (r == (T)0) return __builtin_copysign((T)0, x);
  const T s = sine_of_part(r);
  return is_odd_number(n) ? -s : s;
}
template <class T>
WEIR_BOTH inline T cosine_of_pi(T x) {
  const T a = __builtin_fabs(x), n = nearest(a - (T)0.5);
  // cos(pi a) = (-1)^(n + 1) sin(pi (a - n - 1/2)). For small arguments, a - 1/2 would be rounded, so use another formula.
  if (a < (T)0.25) {
    const T s = sine_of_part((T)(a * (T)0.5));
    return (T)1 - (T)2 * s * s;
  }
  const T r = a - n - (T)0.5;
  if (r == (T)0) return (T)0;
  const T s = sine_of_part(r);
  return is_odd_number(n) ? s : -s;
}
}  // namespace weir_host
extern "C" {
WEIR_C_FUNCTION double sinpi(double x) noexcept { return weir_host::sine_of_pi(x); }
WEIR_C_FUNCTION double cospi(double x) noexcept { return weir_host::cosine_of_pi(x); }
WEIR_C_FUNCTION float sinpif(float x) noexcept { return weir_host::sine_of_pi(x); }
WEIR_C_FUNCTION float cospif(float x) noexcept { return weir_host::cosine_of_pi(x); }
}
WEIR_FUNCTION float fdividef(float a, float b) { return a / b; }
// Computes a norm without overflow or underflow in between: first multiplies very large and very small numbers by a power of
// two.
namespace weir_host {
WEIR_BOTH inline double norm_of(bool reciprocal, double a, double b, double c = 0.0, double d = 0.0) {
  a = __builtin_fabs(a), b = __builtin_fabs(b), c = __builtin_fabs(c), d = __builtin_fabs(d);
  const double infinity = __builtin_huge_val();
  if (a == infinity || b == infinity || c == infinity || d == infinity) return reciprocal ? 0.0 : infinity;
  const double ab = a < b ? b : a, cd = c < d ? d : c, most = ab < cd ? cd : ab;
  // 2^-400, 2^600, 2^400 and 2^-600: C++ before 17 has no hexadecimal floating-point literals.
  const double scale = most < 3.8725919148493183e-121   ? 4.149515568880993e+180
                       : most > 2.5822498780869086e+120 ? 2.409919865102884e-181
                                                        : 1.0;
  a *= scale, b *= scale, c *= scale, d *= scale;
  const double root = sqrt(a * a + b * b + c * c + d * d);
  return reciprocal ? scale / root : root / scale;
}
}  // namespace weir_host
WEIR_FUNCTION float norm3df(float a, float b, float c) { return (float)weir_host::norm_of(false, a, b, c); }
WEIR_FUNCTION double norm3d(double a, double b, double c) { return weir_host::norm_of(false, a, b, c); }
WEIR_FUNCTION float norm4df(float a, float b, float c, float d) { return (float)weir_host::norm_of(false, a, b, c, d); }
WEIR_FUNCTION double norm4d(double a, double b, double c, double d) { return weir_host::norm_of(false, a, b, c, d); }
WEIR_FUNCTION float rnorm3df(float a, float b, float c) { return (float)weir_host::norm_of(true, a, b, c); }
WEIR_FUNCTION double rnorm3d(double a, double b, double c) { return weir_host::norm_of(true, a, b, c); }
WEIR_FUNCTION float rnorm4df(float a, float b, float c, float d) { return (float)weir_host::norm_of(true, a, b, c, d); }
WEIR_FUNCTION double rnorm4d(double a, double b, double c, double d) { return weir_host::norm_of(true, a, b, c, d); }
WEIR_FUNCTION float rhypotf(float a, float b) { return (float)weir_host::norm_of(true, a, b); }
WEIR_FUNCTION double rhypot(double a, double b) { return weir_host::norm_of(true, a, b); }
WEIR_FUNCTION double norm(int n, const double* x) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return sqrt(sum);
}
WEIR_FUNCTION float normf(int n, const float* x) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += (double)x[i] * x[i];
  return (float)sqrt(sum);
}
WEIR_FUNCTION double rnorm(int n, const double* x) { return 1.0 / norm(n, x); }
WEIR_FUNCTION float rnormf(int n, const float* x) { return 1.0f / normf(n, x); }
WEIR_FUNCTION double erfcx(double x) {
  if (x < 25.0) {
    const double square = x * x, lost = __builtin_fma(x, x, -square), power = exp(square), tail = erfc(x);
    return square < 700.0 ? power * tail + power * tail * lost : power * tail;
  }
  const double r = 0.5 / (x * x);
  double sum = 1.0;
  for (int k = 15; k > 0; k -= 2) sum = 1.0 - k * r * sum;
  return 0.56418958354775629 / x * sum;
}
// The inverse of erf for z from 0 to 1, where x is 1 - z: an approximation by M. Giles, made exact by Newton's method; for
// small x that of the logarithm of erfc, which has no underflow.
namespace weir_host {
WEIR_BOTH static inline double inverse_of_erf(double z, double x) {
  if (!(x > 0.0 && z >= 0.0)) return x == 0.0 ? __builtin_huge_val() : __builtin_nan("");
  double w = -log(x * (1.0 + z)), y;
  if (w > 5.0) {
    y = sqrt(w);
    for (int i = 0; i < 4; ++i) {
      const double scaled = erfcx(y);
      y -= (y * y - log(scaled) + log(x)) * scaled * 0.88622692545275801;
    }
    return y;
  }
  const double c[] = {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                      -0.00125372503, -0.00417768164, 0.246640727,     1.50140941};
  w -= 2.5;
  y = 2.81022636e-08;
  for (int i = 0; i < 8; ++i) y = c[i] + y * w;
  y *= z;
  for (int i = 0; i < 3; ++i) {
    const double slope = -1.12837916709551257 * exp(-y * y);
    y -= (x < 0.5 ? erfc(y) - x : z - erf(y)) / slope;
  }
  return y;
}
}  // namespace weir_host
WEIR_FUNCTION double erfinv(double x) {
  return x < 0.0 ? -weir_host::inverse_of_erf(-x, 1.0 + x) : weir_host::inverse_of_erf(x, 1.0 - x);
}
WEIR_FUNCTION double erfcinv(double x) {
  return x > 1.0 ? -weir_host::inverse_of_erf(x - 1.0, 2.0 - x) : weir_host::inverse_of_erf(1.0 - x, x);
}
WEIR_FUNCTION float erfcinvf(float x) { return (float)erfcinv(x); }
WEIR_FUNCTION float erfinvf(float x) { return (float)erfinv(x); }
WEIR_FUNCTION double normcdfinv(double x) { return -1.41421356237309505 * erfcinv(2.0 * x); }
WEIR_FUNCTION float normcdfinvf(float x) { return (float)normcdfinv(x); }
WEIR_FUNCTION float erfcxf(float x) { return (float)erfcx(x); }
WEIR_FUNCTION float normcdff(float x) { return (float)(0.5 * erfc((double)x * -0.70710678118654752)); }
// Corrects for the rounding error of the argument t: the slope of erfc is -2 / sqrt(pi) exp(-t^2).
WEIR_FUNCTION double normcdf(double x) {
  if (!(x > -40.0 && x < 40.0)) return x != x ? x : x < 0.0 ? 0.0 : 1.0;
  const double root = 0.70710678118654752, t = x * -root;
  const double lost = __builtin_fma(x, -root, -t) + x * 4.8336466567264567e-17;
  return 0.5 * erfc(t) - 0.56418958354775629 * exp(-t * t) * lost;
}
WEIR_FUNCTION void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
WEIR_FUNCTION void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }

#ifndef WEIR_GPU
// --- Fast versions: here as exact as the others. The C library itself declares some of them.
extern "C" {
WEIR_C_FUNCTION float __expf(float x) noexcept { return expf(x); }
WEIR_C_FUNCTION float __exp10f(float x) noexcept { return powf(10.0f, x); }
WEIR_C_FUNCTION float __tanhf(float x) noexcept { return tanhf(x); }
WEIR_C_FUNCTION float __logf(float x) noexcept { return logf(x); }
WEIR_C_FUNCTION float __log2f(float x) noexcept { return log2f(x); }
WEIR_C_FUNCTION float __log10f(float x) noexcept { return log10f(x); }
WEIR_C_FUNCTION float __powf(float x, float y) noexcept { return powf(x, y); }
WEIR_C_FUNCTION float __sinf(float x) noexcept { return sinf(x); }
WEIR_C_FUNCTION float __cosf(float x) noexcept { return cosf(x); }
WEIR_C_FUNCTION float __tanf(float x) noexcept { return tanf(x); }
WEIR_C_FUNCTION void __sincosf(float x, float* s, float* c) noexcept { *s = sinf(x); *c = cosf(x); }
}
#endif
WEIR_FUNCTION float __fdividef(float a, float b) { return a / b; }
WEIR_FUNCTION float __saturatef(float x) { return x >= 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

// --- Each rounds once: a source that uses one of the sums or products is compiled without fusing (kernel_source.cpp)
WEIR_FUNCTION float __fadd_rn(float a, float b) { return a + b; }
WEIR_FUNCTION float __fsub_rn(float a, float b) { return a - b; }
WEIR_FUNCTION float __fmul_rn(float a, float b) { return a * b; }
WEIR_FUNCTION float __fdiv_rn(float a, float b) { return a / b; }
WEIR_FUNCTION float __frcp_rn(float x) { return 1.0f / x; }
WEIR_FUNCTION float __fsqrt_rn(float x) { return sqrtf(x); }
WEIR_FUNCTION float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
WEIR_FUNCTION float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WEIR_FUNCTION double __dadd_rn(double a, double b) { return a + b; }
WEIR_FUNCTION double __dsub_rn(double a, double b) { return a - b; }
WEIR_FUNCTION double __dmul_rn(double a, double b) { return a * b; }
WEIR_FUNCTION double __ddiv_rn(double a, double b) { return a / b; }
WEIR_FUNCTION double __drcp_rn(double x) { return 1.0 / x; }
WEIR_FUNCTION double __dsqrt_rn(double x) { return sqrt(x); }
WEIR_FUNCTION double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// --- Bits
WEIR_FUNCTION int __popc(unsigned int x) { return __builtin_popcount(x); }
WEIR_FUNCTION int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
WEIR_FUNCTION int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
WEIR_FUNCTION int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
WEIR_FUNCTION int __ffs(int x) { return __builtin_ffs(x); }
// Returns the position of the offset-th set bit, from `base` upwards, or downwards if the offset is negative; -1 if there is
// none.
WEIR_FUNCTION unsigned int __fns(unsigned int bits, unsigned int base, int offset) {
  if (offset == 0) return (bits >> (base & 31u) & 1u) != 0 ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  for (int at = (int)base; at >= 0 && at < 32; at += step) {
    if ((bits >> at & 1u) != 0 && (offset -= step) == 0) return (unsigned int)at;
  }
  return 0xffffffffu;
}
WEIR_FUNCTION int __ffsll(long long x) { return __builtin_ffsll(x); }
WEIR_FUNCTION unsigned int __brev(unsigned int x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
WEIR_FUNCTION unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned int)x) << 32 | __brev((unsigned int)(x >> 32));
}
WEIR_FUNCTION unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  unsigned int result = 0;
  for (int i = 0; i < 4; ++i) result |= (unsigned int)(both >> (selector >> (4 * i) & 7u) * 8 & 0xffu) << (8 * i);
  return result;
}
WEIR_FUNCTION unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)((((unsigned long long)high << 32 | low) << (shift & 31u)) >> 32);
}
WEIR_FUNCTION unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift & 31u));
}
WEIR_FUNCTION unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)((((unsigned long long)high << 32 | low) << (shift < 32u ? shift : 32u)) >> 32);
}
WEIR_FUNCTION unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
  return (unsigned int)(((unsigned long long)high << 32 | low) >> (shift < 32u ? shift : 32u));
}

// --- Whole numbers
WEIR_FUNCTION int __mul24(int a, int b) { return ((int)((unsigned int)a << 8) >> 8) * ((int)((unsigned int)b << 8) >> 8); }
WEIR_FUNCTION unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffffu) * (b & 0xffffffu); }
WEIR_FUNCTION int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
WEIR_FUNCTION unsigned int __umulhi(unsigned int a, unsigned int b) {
  return (unsigned int)((unsigned long long)a * b >> 32);
}
WEIR_FUNCTION long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
WEIR_FUNCTION unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
WEIR_FUNCTION unsigned int __sad(int a, int b, unsigned int c) {
  return (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a) + c;
}
WEIR_FUNCTION unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) { return (a > b ? a - b : b - a) + c; }
WEIR_FUNCTION int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
WEIR_FUNCTION int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
WEIR_FUNCTION unsigned int __uhadd(unsigned int a, unsigned int b) {
  return (unsigned int)(((unsigned long long)a + b) >> 1);
}
WEIR_FUNCTION unsigned int __urhadd(unsigned int a, unsigned int b) {
  return (unsigned int)(((unsigned long long)a + b + 1) >> 1);
}

// --- The same bits as another type
#define WEIR_BITS(name, to, from) \
  WEIR_FUNCTION to name(from x) { to y; __builtin_memcpy(&y, &x, sizeof(y)); return y; }
WEIR_BITS(__float_as_int, int, float)
WEIR_BITS(__float_as_uint, unsigned int, float)
WEIR_BITS(__int_as_float, float, int)
WEIR_BITS(__uint_as_float, float, unsigned int)
WEIR_BITS(__double_as_longlong, long long, double)
WEIR_BITS(__longlong_as_double, double, long long)
#undef WEIR_BITS
WEIR_FUNCTION int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
WEIR_FUNCTION int __double2loint(double x) { return (int)__double_as_longlong(x); }
WEIR_FUNCTION double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)((unsigned long long)(unsigned int)high << 32 | (unsigned int)low));
}

// --- Conversions: to whole numbers they saturate, and a NaN becomes 0, as on the GPU
namespace weir_host {
template <class To, class From>
WEIR_FUNCTION To saturated(From x) {
  constexpr int bits = sizeof(To) * 8 - ((To)-1 < (To)0);
  constexpr To greatest = (To)(~0ull >> (64 - bits)), least = (To)-1 < (To)0 ? (To)(-greatest - 1) : (To)0;
  constexpr From limit = 2 * (From)(1ull << (bits - 1));
  return x < limit ? (x > (From)least ? (To)x : least) : x >= limit ? greatest : (To)0;
}
}  // namespace weir_host
#define WEIR_CONVERSIONS(name, to, from, suffix)                                                              \
  WEIR_FUNCTION to name##_rn(from x) { return weir_host::saturated<to, from>(__builtin_rint##suffix(x)); }    \
  WEIR_FUNCTION to name##_rz(from x) { return weir_host::saturated<to, from>(__builtin_trunc##suffix(x)); }   \
  WEIR_FUNCTION to name##_rd(from x) { return weir_host::saturated<to, from>(__builtin_floor##suffix(x)); }   \
  WEIR_FUNCTION to name##_ru(from x) { return weir_host::saturated<to, from>(__builtin_ceil##suffix(x)); }
WEIR_CONVERSIONS(__float2int, int, float, f)
WEIR_CONVERSIONS(__float2uint, unsigned int, float, f)
WEIR_CONVERSIONS(__float2ll, long long, float, f)
WEIR_CONVERSIONS(__float2ull, unsigned long long, float, f)
WEIR_CONVERSIONS(__double2int, int, double, )
WEIR_CONVERSIONS(__double2uint, unsigned int, double, )
WEIR_CONVERSIONS(__double2ll, long long, double, )
WEIR_CONVERSIONS(__double2ull, unsigned long long, double, )
#undef WEIR_CONVERSIONS
WEIR_FUNCTION float __int2float_rn(int x) { return (float)x; }
WEIR_FUNCTION float __uint2float_rn(unsigned int x) { return (float)x; }
WEIR_FUNCTION float __ll2float_rn(long long x) { return (float)x; }
WEIR_FUNCTION float __ull2float_rn(unsigned long long x) { return (float)x; }
WEIR_FUNCTION double __int2double_rn(int x) { return x; }
WEIR_FUNCTION double __uint2double_rn(unsigned int x) { return x; }
WEIR_FUNCTION double __ll2double_rn(long long x) { return (double)x; }
WEIR_FUNCTION double __ull2double_rn(unsigned long long x) { return (double)x; }
WEIR_FUNCTION float __double2float_rn(double x) { return (float)x; }

#ifndef WEIR_GPU
// --- Time, in ticks of a clock that runs evenly
WEIR_FUNCTION long long clock64() {
  WEIR_SPIN();
#if defined(__x86_64__)
  return (long long)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  long long ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return (long long)__builtin_readcyclecounter();
#endif
}

typedef long clock_t;  // as in the C library
extern "C" WEIR_C_FUNCTION clock_t clock() noexcept { return (clock_t)clock64(); }
WEIR_FUNCTION void __nanosleep(unsigned int) { __weir_turn(); }
#endif
WEIR_FUNCTION void __trap() { __builtin_trap(); }

// --- Memory
template <class weir_T>
WEIR_FUNCTION weir_T __ldg(const weir_T* address) {
  return *address;
}
#define WEIR_LOAD(name) template <class weir_T> WEIR_FUNCTION weir_T name(const weir_T* address) { return *address; }
#define WEIR_STORE(name) template <class weir_T> WEIR_FUNCTION void name(weir_T* address, weir_T value) { *address = value; }
WEIR_LOAD(__ldca) WEIR_LOAD(__ldcg) WEIR_LOAD(__ldcs) WEIR_LOAD(__ldlu)
WEIR_STORE(__stwb) WEIR_STORE(__stcg) WEIR_STORE(__stcs) WEIR_STORE(__stwt)
#undef WEIR_LOAD
#undef WEIR_STORE
// Reads the memory at each call, so that a loop can wait for a value.
template <class weir_T>
WEIR_FUNCTION weir_T __ldcv(const weir_T* address) {
#ifndef WEIR_GPU
  WEIR_SPIN();
#endif
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return *address;
}
#ifndef WEIR_GPU
WEIR_FUNCTION void __threadfence_block() {
  WEIR_SPIN();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
WEIR_FUNCTION void __threadfence() {
  WEIR_SPIN();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
WEIR_FUNCTION void __threadfence_system() {
  WEIR_SPIN();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
#endif

#undef WEIR_FUNCTION
#undef WEIR_C_FUNCTION
)weir";

}  // namespace weir::host
