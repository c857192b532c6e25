// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Replaces the C library's headers if Clang compiles a kernel as CUDA (`-x cuda`). In that case the functions of those
/// headers would be host functions. The text includes no standard header. That makes it faster to compile, and a source
/// whose own includes are missing fails, as with NVRTC.
namespace weir::host {

inline constexpr std::string_view prelude_cuda_library = R"weir(
#define WEIR_DEVICE __attribute__((device))
#define WEIR_BOTH __attribute__((host, device))
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define WEIR_INTEGERS(bits) typedef __INT##bits##_TYPE__ int##bits##_t; typedef __UINT##bits##_TYPE__ uint##bits##_t;
WEIR_INTEGERS(8) WEIR_INTEGERS(16) WEIR_INTEGERS(32) WEIR_INTEGERS(64)
#undef WEIR_INTEGERS
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

// constexpr functions of libstdc++ are also device code. This includes functions that are constexpr only from C++20 on: see
// `weir_constexpr` in `cuda_keywords`.
#if __cplusplus < 202002L
#define _GLIBCXX20_CONSTEXPR weir_constexpr
#endif

// The only header that the language itself needs: for (int i : {1, 2, 3}).
#if __has_include(<initializer_list>)
#include <initializer_list>
#endif

#define NULL __null
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#if defined(__x86_64__) || defined(__i386__)
#define WEIR_DOWNWARD 0x400
#define WEIR_UPWARD 0x800
#define WEIR_TOWARDZERO 0xc00
#else
#define WEIR_UPWARD 0x400000
#define WEIR_DOWNWARD 0x800000
#define WEIR_TOWARDZERO 0xc00000
#endif
#define assert(condition) \
  ((condition) ? (void)0 : __assert_fail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__))

#define WEIR_LIBRARY WEIR_DEVICE
#define WEIR_MATH_1(name)                                                                   \
  extern "C" WEIR_LIBRARY double name(double) noexcept;                                     \
  extern "C" WEIR_LIBRARY float name##f(float) noexcept;                                    \
  WEIR_LIBRARY WEIR_ALWAYS_INLINE float name(float x) { return name##f(x); }                \
  template <class weir_T>                                                                   \
  WEIR_LIBRARY WEIR_ALWAYS_INLINE weir_host::double_for<weir_T> name(weir_T x) {            \
    return name((double)x);                                                                 \
  } \
  namespace std { using ::name; }
#define WEIR_MATH_2(name)                                                                   \
  extern "C" WEIR_LIBRARY double name(double, double) noexcept;                             \
  extern "C" WEIR_LIBRARY float name##f(float, float) noexcept;                             \
  WEIR_LIBRARY WEIR_ALWAYS_INLINE float name(float x, float y) { return name##f(x, y); }    \
  template <class weir_T, class weir_U>                                                     \
  WEIR_LIBRARY WEIR_ALWAYS_INLINE weir_host::double_for<weir_T, weir_U> name(weir_T x, weir_U y) { \
    return name((double)x, (double)y);                                                      \
  } \
  namespace std { using ::name; }
#define WEIR_MATH(result, name, parameters, parameters_f, arguments)                        \
  extern "C" WEIR_LIBRARY result name parameters noexcept;                                  \
  extern "C" WEIR_LIBRARY weir_host::float_for<result> name##f parameters_f noexcept;       \
  WEIR_LIBRARY WEIR_ALWAYS_INLINE weir_host::float_for<result> name parameters_f { return name##f arguments; } \
  namespace std { using ::name; }

#define WEIR_ALWAYS_INLINE inline __attribute__((always_inline))
namespace weir_host {
template <class T>
struct arithmetic {
  static constexpr bool whole = false, value = false;
};
#define WEIR_ARITHMETIC(type, is_whole)                    \
  template <>                                              \
  struct arithmetic<type> {                                \
    static constexpr bool whole = is_whole, value = true;  \
  };
WEIR_ARITHMETIC(bool, true) WEIR_ARITHMETIC(char, true) WEIR_ARITHMETIC(signed char, true)
WEIR_ARITHMETIC(unsigned char, true) WEIR_ARITHMETIC(short, true) WEIR_ARITHMETIC(unsigned short, true)
WEIR_ARITHMETIC(int, true) WEIR_ARITHMETIC(unsigned int, true) WEIR_ARITHMETIC(long, true)
WEIR_ARITHMETIC(unsigned long, true) WEIR_ARITHMETIC(long long, true) WEIR_ARITHMETIC(unsigned long long, true)
WEIR_ARITHMETIC(float, false) WEIR_ARITHMETIC(double, false)
#undef WEIR_ARITHMETIC
template <bool>
struct double_if {};
template <>
struct double_if<true> {
  using type = double;
};
template <class T, class U>
constexpr bool same_type = false;
template <class T>
constexpr bool same_type<T, T> = true;
// Integers and mixed types are converted to double, because no overload has exactly these types.
template <class T, class U = T>
using double_for = typename double_if<arithmetic<T>::value && arithmetic<U>::value &&
                                      (arithmetic<T>::whole || arithmetic<U>::whole || !same_type<T, U>)>::type;
template <class T>
struct float_for_type {
  using type = T;
};
template <>
struct float_for_type<double> {
  using type = float;
};
template <class T>
using float_for = typename float_for_type<T>::type;
}  // namespace weir_host

WEIR_MATH_1(acos) WEIR_MATH_1(acosh) WEIR_MATH_1(asin) WEIR_MATH_1(asinh) WEIR_MATH_1(atan) WEIR_MATH_1(atanh)
WEIR_MATH_1(cbrt) WEIR_MATH_1(ceil) WEIR_MATH_1(cos) WEIR_MATH_1(cosh) WEIR_MATH_1(erf) WEIR_MATH_1(erfc)
WEIR_MATH_1(exp) WEIR_MATH_1(exp2) WEIR_MATH_1(expm1) WEIR_MATH_1(fabs) WEIR_MATH_1(floor) WEIR_MATH_1(lgamma)
WEIR_MATH_1(log) WEIR_MATH_1(log10) WEIR_MATH_1(log1p) WEIR_MATH_1(log2) WEIR_MATH_1(logb) WEIR_MATH_1(nearbyint)
WEIR_MATH_1(rint) WEIR_MATH_1(round) WEIR_MATH_1(sin) WEIR_MATH_1(sinh) WEIR_MATH_1(sqrt) WEIR_MATH_1(tan)
WEIR_MATH_1(tanh) WEIR_MATH_1(tgamma) WEIR_MATH_1(trunc)
WEIR_MATH_2(atan2) WEIR_MATH_2(copysign) WEIR_MATH_2(fdim) WEIR_MATH_2(fmod) WEIR_MATH_2(hypot)
WEIR_MATH_2(nextafter) WEIR_MATH_2(pow) WEIR_MATH_2(remainder)
WEIR_MATH(double, fma, (double x, double y, double z), (float x, float y, float z), (x, y, z))
WEIR_MATH(double, frexp, (double x, int* exponent), (float x, int* exponent), (x, exponent))
WEIR_MATH(double, ldexp, (double x, int exponent), (float x, int exponent), (x, exponent))
WEIR_MATH(double, scalbn, (double x, int exponent), (float x, int exponent), (x, exponent))
WEIR_MATH(double, scalbln, (double x, long exponent), (float x, long exponent), (x, exponent))
WEIR_MATH(double, modf, (double x, double* whole), (float x, float* whole), (x, whole))
WEIR_MATH(double, remquo, (double x, double y, int* bits), (float x, float y, int* bits), (x, y, bits))
WEIR_MATH(int, ilogb, (double x), (float x), (x))
WEIR_MATH(long, lrint, (double x), (float x), (x))
WEIR_MATH(long, lround, (double x), (float x), (x))
WEIR_MATH(long long, llrint, (double x), (float x), (x))
WEIR_MATH(long long, llround, (double x), (float x), (x))
#undef WEIR_MATH_1
#undef WEIR_MATH_2
#undef WEIR_MATH
extern "C" {
#define WEIR_C_MATH(name) WEIR_LIBRARY double name(double) noexcept; WEIR_LIBRARY float name##f(float) noexcept;
WEIR_C_MATH(exp10) WEIR_C_MATH(j0) WEIR_C_MATH(j1) WEIR_C_MATH(y0) WEIR_C_MATH(y1)
#undef WEIR_C_MATH
WEIR_LIBRARY double jn(int, double) noexcept; WEIR_LIBRARY float jnf(int, float) noexcept;
WEIR_LIBRARY double yn(int, double) noexcept; WEIR_LIBRARY float ynf(int, float) noexcept;
WEIR_LIBRARY void sincos(double, double*, double*) noexcept;
WEIR_LIBRARY void sincosf(float, float*, float*) noexcept;
WEIR_LIBRARY double nan(const char*) noexcept; WEIR_LIBRARY float nanf(const char*) noexcept;
WEIR_LIBRARY int fegetround() noexcept;
WEIR_LIBRARY int fesetround(int) noexcept;
WEIR_LIBRARY int abs(int) noexcept;
WEIR_LIBRARY long labs(long) noexcept;
WEIR_LIBRARY long long llabs(long long) noexcept;
WEIR_LIBRARY WEIR_ALWAYS_INLINE double fmin(double a, double b) noexcept { return b != b ? a : a < b ? a : b; }
WEIR_LIBRARY WEIR_ALWAYS_INLINE double fmax(double a, double b) noexcept { return b != b ? a : a > b ? a : b; }

WEIR_LIBRARY int printf(const char*, ...) __asm__("weir_printf");  // prelude_module defines it
WEIR_LIBRARY int vprintf(const char*, __builtin_va_list);
WEIR_LIBRARY int puts(const char*);
WEIR_LIBRARY int putchar(int);
WEIR_LIBRARY void* malloc(size_t) noexcept;
WEIR_LIBRARY void free(void*) noexcept;
WEIR_LIBRARY void* memcpy(void*, const void*, size_t) noexcept;
WEIR_LIBRARY void* memmove(void*, const void*, size_t) noexcept;
WEIR_LIBRARY void* memset(void*, int, size_t) noexcept;
WEIR_LIBRARY int memcmp(const void*, const void*, size_t) noexcept;
WEIR_LIBRARY size_t strlen(const char*) noexcept;
WEIR_LIBRARY int strcmp(const char*, const char*) noexcept;
[[noreturn]] WEIR_LIBRARY void __assert_fail(const char*, const char*, unsigned int, const char*) noexcept;
[[noreturn]] WEIR_LIBRARY void abort() noexcept;
}
#define WEIR_INLINE WEIR_LIBRARY WEIR_ALWAYS_INLINE
WEIR_INLINE long abs(long x) { return labs(x); }
WEIR_INLINE long long abs(long long x) { return llabs(x); }
WEIR_INLINE float abs(float x) { return fabsf(x); }
WEIR_INLINE double abs(double x) { return fabs(x); }
WEIR_INLINE float fmin(float a, float b) { return b != b ? a : a < b ? a : b; }
WEIR_INLINE float fmax(float a, float b) { return b != b ? a : a > b ? a : b; }
template <class weir_T, class weir_U>
WEIR_INLINE weir_host::double_for<weir_T, weir_U> fmin(weir_T a, weir_U b) { return fmin((double)a, (double)b); }
template <class weir_T, class weir_U>
WEIR_INLINE weir_host::double_for<weir_T, weir_U> fmax(weir_T a, weir_U b) { return fmax((double)a, (double)b); }
#define WEIR_CLASSIFY(name)                                             \
  WEIR_INLINE bool name(float x) { return __builtin_##name(x); }        \
  WEIR_INLINE bool name(double x) { return __builtin_##name(x); }
WEIR_CLASSIFY(isnan) WEIR_CLASSIFY(isinf) WEIR_CLASSIFY(isfinite) WEIR_CLASSIFY(isnormal) WEIR_CLASSIFY(signbit)
#undef WEIR_CLASSIFY
namespace std {
using ::abs; using ::fmax; using ::fmin; using ::isfinite; using ::isinf; using ::isnan; using ::isnormal; using ::signbit;
}
#undef WEIR_INLINE
#undef WEIR_LIBRARY
)weir";

/// The meaning of the keywords if the source is compiled as CUDA. A shared variable is thread-local to the worker that runs
/// the block, because a worker runs one block at a time. `Module::global` finds variables by their symbols, so they are
/// visible.
inline constexpr std::string_view cuda_keywords = R"weir(
#define __global__ __attribute__((global, annotate("weir.kernel")))
#define __device__ __attribute__((device, visibility("default")))
#define __constant__ __attribute__((constant, visibility("default")))
#define __managed__ __attribute__((device, visibility("default")))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared, annotate("weir.shared"))) thread_local
#define weir_dynamic_shared_memory __attribute__((shared)) __thread
#define weir_constexpr __attribute__((host, device))
#define __grid_constant__
#define WEIR_DEVICE __attribute__((device))
#define __forceinline__ __inline__ __attribute__((always_inline))
)weir";

}  // namespace weir::host
