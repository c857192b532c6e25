// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The C library's functions for kernels that Clang compiles for a GPU. Functions that are a single instruction use Clang's
/// builtins; the others call the vendor's bitcode library (CUDA's libdevice, ROCm's ocml).
namespace weir::kernels {

/// The names of functions in libdevice, such as __nv_sin and __nv_sinf.
inline constexpr std::string_view nvidia_library = R"weir(
#define WEIR_F64(name) __nv_##name
#define WEIR_F32(name) __nv_##name##f
#define WEIR_FAST(name) __nv_fast_##name##f
#define WEIR_OWN
// Functions that round in a given direction.
#define WEIR_ROUNDED(real, name, parameters, arguments)              \
  extern "C" WEIR_DEVICE real __nv_##name parameters;                \
  WEIR_DEVICE WEIR_ALWAYS_INLINE real __##name parameters { return __nv_##name arguments; }
// Assembly, because LLVM replaces its own functions that convert toward zero by functions that round to even.
#define WEIR_CONVERTED(real, name, whole, result, instruction)       \
  WEIR_DEVICE WEIR_ALWAYS_INLINE real __##name(whole x) {            \
    real y;                                                          \
    __asm__("cvt." instruction " %0, %1;" : result(y) : "l"(x));     \
    return y;                                                        \
  }
#define WEIR_DIRECTED(way, ptx)                                      \
  WEIR_ROUNDED(double, dadd_##way, (double x, double y), (x, y))     \
  WEIR_ROUNDED(double, dmul_##way, (double x, double y), (x, y))     \
  WEIR_ROUNDED(double, ddiv_##way, (double x, double y), (x, y))     \
  WEIR_ROUNDED(double, drcp_##way, (double x), (x))                  \
  WEIR_ROUNDED(double, dsqrt_##way, (double x), (x))                 \
  WEIR_ROUNDED(double, fma_##way, (double x, double y, double z), (x, y, z)) \
  WEIR_CONVERTED(float, ll2float_##way, long long, "=f", ptx ".f32.s64") \
  WEIR_CONVERTED(float, ull2float_##way, unsigned long long, "=f", ptx ".f32.u64") \
  WEIR_CONVERTED(double, ll2double_##way, long long, "=d", ptx ".f64.s64") \
  WEIR_CONVERTED(double, ull2double_##way, unsigned long long, "=d", ptx ".f64.u64") \
  WEIR_DEVICE WEIR_ALWAYS_INLINE double __dsub_##way(double x, double y) { return __dadd_##way(x, -y); }
WEIR_DIRECTED(rz, "rz") WEIR_DIRECTED(ru, "rp") WEIR_DIRECTED(rd, "rm")
#undef WEIR_DIRECTED
#undef WEIR_CONVERTED
#undef WEIR_ROUNDED
// The driver's vprintf reads the promoted values from one buffer, each aligned to its size.
namespace weir_host {
WEIR_DEVICE WEIR_ALWAYS_INLINE double promoted(float x) { return x; }
template <class T>
WEIR_DEVICE WEIR_ALWAYS_INLINE auto promoted(T x) {
  return +x;
}
template <class T>
WEIR_DEVICE WEIR_ALWAYS_INLINE int put(char* values, size_t& at, T x) {
  at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  __builtin_memcpy(values + at, &x, sizeof(T));
  at += sizeof(T);
  return 0;
}
}  // namespace weir_host
template <class... T>
WEIR_DEVICE WEIR_ALWAYS_INLINE int weir_printf(const char* format, T... x) {
  alignas(8) char values[8 * sizeof...(T) + 8];
  size_t at = 0;
  const int done[] = {0, weir_host::put(values, at, weir_host::promoted(x))...};
  (void)done;
  return vprintf(format, values);
}
#define printf(...) weir_printf(__VA_ARGS__)
extern "C" WEIR_DEVICE void __assertfail(const char*, const char*, unsigned int, const char*, size_t);
extern "C" [[noreturn]] WEIR_DEVICE inline void __assert_fail(const char* condition, const char* file, unsigned int line,
                                                              const char* function) noexcept {
  __assertfail(condition, file, line, function, 1);
  __builtin_trap();
}
)weir";

/// The names of functions in ocml, such as __ocml_sin_f64 and __ocml_sin_f32. These functions accept only pointers to
/// private memory.
inline constexpr std::string_view amd_library = R"weir(
#define WEIR_F64(name) __ocml_##name##_f64
#define WEIR_F32(name) __ocml_##name##_f32
#define WEIR_FAST(name) __ocml_native_##name##_f32
#define WEIR_OWN __attribute__((address_space(5)))
extern "C" [[noreturn]] WEIR_DEVICE inline void __assert_fail(const char*, const char*, unsigned int, const char*) noexcept {
  __builtin_trap();
}
)weir";

inline constexpr std::string_view gpu_library = R"weir(
#define WEIR_LIBRARY extern "C" WEIR_DEVICE
#define WEIR_DEFINED extern "C" WEIR_DEVICE WEIR_ALWAYS_INLINE
#define WEIR_BUILT_IN(name)                                                    \
  WEIR_DEFINED double name(double x) noexcept { return __builtin_##name(x); }  \
  WEIR_DEFINED float name##f(float x) noexcept { return __builtin_##name##f(x); }
WEIR_BUILT_IN(ceil) WEIR_BUILT_IN(fabs) WEIR_BUILT_IN(floor) WEIR_BUILT_IN(nearbyint) WEIR_BUILT_IN(rint)
WEIR_BUILT_IN(sqrt) WEIR_BUILT_IN(trunc)
#undef WEIR_BUILT_IN
WEIR_DEFINED double copysign(double x, double y) noexcept { return __builtin_copysign(x, y); }
WEIR_DEFINED float copysignf(float x, float y) noexcept { return __builtin_copysignf(x, y); }
WEIR_DEFINED double fma(double x, double y, double z) noexcept { return __builtin_fma(x, y, z); }
WEIR_DEFINED float fmaf(float x, float y, float z) noexcept { return __builtin_fmaf(x, y, z); }
WEIR_DEFINED double nan(const char*) noexcept { return __builtin_nan(""); }
WEIR_DEFINED float nanf(const char*) noexcept { return __builtin_nanf(""); }
WEIR_DEFINED int abs(int x) noexcept { return x < 0 ? -x : x; }
WEIR_DEFINED long labs(long x) noexcept { return x < 0 ? -x : x; }
WEIR_DEFINED long long llabs(long long x) noexcept { return x < 0 ? -x : x; }
WEIR_DEFINED long lrint(double x) noexcept { return (long)__builtin_rint(x); }
WEIR_DEFINED long lrintf(float x) noexcept { return (long)__builtin_rintf(x); }
WEIR_DEFINED long long llrint(double x) noexcept { return (long long)__builtin_rint(x); }
WEIR_DEFINED long long llrintf(float x) noexcept { return (long long)__builtin_rintf(x); }

#define WEIR_1(name)                                                           \
  WEIR_LIBRARY double WEIR_F64(name)(double);                                  \
  WEIR_LIBRARY float WEIR_F32(name)(float);                                    \
  WEIR_DEFINED double name(double x) noexcept { return WEIR_F64(name)(x); }    \
  WEIR_DEFINED float name##f(float x) noexcept { return WEIR_F32(name)(x); }
// Also has a version that is faster and less exact, as in CUDA. Fast mathematics uses it everywhere.
#ifdef __FAST_MATH__
#define WEIR_CHOSEN(fast, exact) fast
#else
#define WEIR_CHOSEN(fast, exact) exact
#endif
#define WEIR_FAST_1(name)                                                      \
  WEIR_LIBRARY double WEIR_F64(name)(double);                                  \
  WEIR_LIBRARY float WEIR_F32(name)(float);                                    \
  WEIR_LIBRARY float WEIR_FAST(name)(float);                                   \
  WEIR_DEFINED double name(double x) noexcept { return WEIR_F64(name)(x); }    \
  WEIR_DEFINED float name##f(float x) noexcept { return WEIR_CHOSEN(WEIR_FAST(name), WEIR_F32(name))(x); } \
  WEIR_DEFINED float __##name##f(float x) noexcept { return WEIR_FAST(name)(x); }
#define WEIR_2(name)                                                                          \
  WEIR_LIBRARY double WEIR_F64(name)(double, double);                                         \
  WEIR_LIBRARY float WEIR_F32(name)(float, float);                                            \
  WEIR_DEFINED double name(double x, double y) noexcept { return WEIR_F64(name)(x, y); }      \
  WEIR_DEFINED float name##f(float x, float y) noexcept { return WEIR_F32(name)(x, y); }
#define WEIR_SCALED(name)                                                                     \
  WEIR_DEFINED double name(double x, int exponent) noexcept { return WEIR_F64(ldexp)(x, exponent); } \
  WEIR_DEFINED float name##f(float x, int exponent) noexcept { return WEIR_F32(ldexp)(x, exponent); }
#define WEIR_WITH_RESULT(name, real, function, type)                           \
  WEIR_LIBRARY real function(real, WEIR_OWN type*);                            \
  WEIR_DEFINED real name(real x, type* result) noexcept {                      \
    type own;                                                                  \
    const real value = function(x, (WEIR_OWN type*)&own);                      \
    *result = own;                                                             \
    return value;                                                              \
  }
WEIR_FAST_1(cos) WEIR_FAST_1(exp) WEIR_FAST_1(exp10) WEIR_FAST_1(log) WEIR_FAST_1(log10) WEIR_FAST_1(log2) WEIR_FAST_1(sin)
WEIR_1(acos) WEIR_1(acosh) WEIR_1(asin) WEIR_1(asinh) WEIR_1(atan) WEIR_1(atanh) WEIR_1(cbrt) WEIR_1(cosh) WEIR_1(erf)
WEIR_1(erfc) WEIR_1(exp2) WEIR_1(expm1) WEIR_1(j0) WEIR_1(j1) WEIR_1(lgamma) WEIR_1(log1p) WEIR_1(logb) WEIR_1(round)
WEIR_1(sinh) WEIR_1(tanh) WEIR_1(tgamma) WEIR_1(y0) WEIR_1(y1)
WEIR_2(atan2) WEIR_2(fdim) WEIR_2(fmod) WEIR_2(hypot) WEIR_2(nextafter) WEIR_2(remainder)
WEIR_DEFINED float __powf(float x, float y) noexcept { return exp2f(y * __log2f(x)); }
WEIR_DEFINED float __tanf(float x) noexcept { return __sinf(x) / __cosf(x); }
WEIR_DEFINED float __tanhf(float x) noexcept { return tanhf(x); }
WEIR_DEFINED void __sincosf(float x, float* s, float* c) noexcept { *s = __sinf(x), *c = __cosf(x); }
WEIR_LIBRARY double WEIR_F64(tan)(double);
WEIR_LIBRARY float WEIR_F32(tan)(float);
WEIR_LIBRARY double WEIR_F64(pow)(double, double);
WEIR_LIBRARY float WEIR_F32(pow)(float, float);
WEIR_DEFINED double tan(double x) noexcept { return WEIR_F64(tan)(x); }
WEIR_DEFINED float tanf(float x) noexcept { return WEIR_CHOSEN(__tanf, WEIR_F32(tan))(x); }
WEIR_DEFINED double pow(double x, double y) noexcept { return WEIR_F64(pow)(x, y); }
WEIR_DEFINED float powf(float x, float y) noexcept { return WEIR_CHOSEN(__powf, WEIR_F32(pow))(x, y); }
WEIR_LIBRARY double WEIR_F64(ldexp)(double, int);
WEIR_LIBRARY float WEIR_F32(ldexp)(float, int);
WEIR_SCALED(ldexp) WEIR_SCALED(scalbn)
WEIR_LIBRARY int WEIR_F64(ilogb)(double);
WEIR_LIBRARY int WEIR_F32(ilogb)(float);
WEIR_DEFINED int ilogb(double x) noexcept { return WEIR_F64(ilogb)(x); }
WEIR_DEFINED int ilogbf(float x) noexcept { return WEIR_F32(ilogb)(x); }
WEIR_WITH_RESULT(frexp, double, WEIR_F64(frexp), int)
WEIR_WITH_RESULT(frexpf, float, WEIR_F32(frexp), int)
WEIR_WITH_RESULT(modf, double, WEIR_F64(modf), double)
WEIR_WITH_RESULT(modff, float, WEIR_F32(modf), float)
WEIR_DEFINED long lround(double x) noexcept { return (long)round(x); }
WEIR_DEFINED long lroundf(float x) noexcept { return (long)roundf(x); }
WEIR_DEFINED long long llround(double x) noexcept { return (long long)round(x); }
WEIR_DEFINED long long llroundf(float x) noexcept { return (long long)roundf(x); }
WEIR_DEFINED void sincos(double x, double* s, double* c) noexcept { *s = sin(x), *c = cos(x); }
WEIR_DEFINED void sincosf(float x, float* s, float* c) noexcept { *s = sinf(x), *c = cosf(x); }
#undef WEIR_1
#undef WEIR_2
#undef WEIR_SCALED
#undef WEIR_WITH_RESULT
#undef WEIR_OWN
#undef WEIR_FAST_1
#undef WEIR_CHOSEN

WEIR_DEFINED void* memcpy(void* to, const void* from, size_t size) noexcept { return __builtin_memcpy(to, from, size); }
WEIR_DEFINED void* memmove(void* to, const void* from, size_t size) noexcept { return __builtin_memmove(to, from, size); }
WEIR_DEFINED void* memset(void* to, int value, size_t size) noexcept { return __builtin_memset(to, value, size); }
WEIR_DEFINED int memcmp(const void* a, const void* b, size_t size) noexcept {
  for (size_t i = 0; i < size; ++i) {
    const int difference = ((const unsigned char*)a)[i] - ((const unsigned char*)b)[i];
    if (difference != 0) return difference;
  }
  return 0;
}
WEIR_DEFINED size_t strlen(const char* text) noexcept {
  size_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}
#undef WEIR_DEFINED
#undef WEIR_LIBRARY
)weir";

}  // namespace weir::kernels
