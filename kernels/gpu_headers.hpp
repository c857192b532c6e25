// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/bfloat16.hpp"
#include "kernels/cub.hpp"
#include "kernels/gpu_groups.hpp"
#include "kernels/math_constants.hpp"

/// The headers that kernels may include on every backend, under CUDA's names and HIP's names. If a vendor's compiler has
/// such a header built in or installed, the compiler's own is used; this file contains the others. The HIP backend on
/// NVIDIA's compiler uses NVIDIA's headers.
namespace weir::kernels {

// clang-format off
#define WEIR_MACRO(name, parameters, value) "#undef " name "\n#define " name parameters " " value "\n"
#define WEIR_LIMITS(type, most, unsigned_most)         \
  WEIR_MACRO("INT" type "_MIN", "", "(-" most " - 1)") \
  WEIR_MACRO("INT" type "_MAX", "", most) WEIR_MACRO("UINT" type "_MAX", "", unsigned_most)
#define WEIR_CONSTANTS(type, value, unsigned_value) \
  WEIR_MACRO("INT" type "_C", "(c)", value) WEIR_MACRO("UINT" type "_C", "(c)", unsigned_value)

inline constexpr const char* stdint_header = R"(
#ifndef WEIR_STDINT
#define WEIR_STDINT
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int_least8_t; typedef short int_least16_t; typedef int int_least32_t; typedef long long int_least64_t;
typedef unsigned char uint_least8_t; typedef unsigned short uint_least16_t; typedef unsigned int uint_least32_t;
typedef unsigned long long uint_least64_t;
typedef signed char int_fast8_t; typedef long int_fast16_t; typedef long int_fast32_t; typedef long int_fast64_t;
typedef unsigned char uint_fast8_t; typedef unsigned long uint_fast16_t; typedef unsigned long uint_fast32_t;
typedef unsigned long uint_fast64_t;
typedef long intptr_t; typedef unsigned long uintptr_t; typedef long intmax_t; typedef unsigned long uintmax_t;
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::int_least8_t; using ::int_least16_t; using ::int_least32_t; using ::int_least64_t;
using ::uint_least8_t; using ::uint_least16_t; using ::uint_least32_t; using ::uint_least64_t;
using ::int_fast8_t; using ::int_fast16_t; using ::int_fast32_t; using ::int_fast64_t;
using ::uint_fast8_t; using ::uint_fast16_t; using ::uint_fast32_t; using ::uint_fast64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
}
)"
WEIR_LIMITS("8", "127", "255") WEIR_LIMITS("16", "32767", "65535") WEIR_LIMITS("32", "2147483647", "4294967295U")
WEIR_LIMITS("64", "9223372036854775807LL", "18446744073709551615ULL")
WEIR_LIMITS("_LEAST8", "127", "255") WEIR_LIMITS("_LEAST16", "32767", "65535")
WEIR_LIMITS("_LEAST32", "2147483647", "4294967295U")
WEIR_LIMITS("_LEAST64", "9223372036854775807LL", "18446744073709551615ULL")
WEIR_LIMITS("_FAST8", "127", "255") WEIR_LIMITS("_FAST16", "9223372036854775807L", "18446744073709551615UL")
WEIR_LIMITS("_FAST32", "9223372036854775807L", "18446744073709551615UL")
WEIR_LIMITS("_FAST64", "9223372036854775807L", "18446744073709551615UL")
WEIR_LIMITS("PTR", "9223372036854775807L", "18446744073709551615UL")
WEIR_LIMITS("MAX", "9223372036854775807L", "18446744073709551615UL")
WEIR_MACRO("PTRDIFF_MIN", "", "(-9223372036854775807L - 1)") WEIR_MACRO("PTRDIFF_MAX", "", "9223372036854775807L")
WEIR_MACRO("SIZE_MAX", "", "18446744073709551615UL")
WEIR_CONSTANTS("8", "c", "c") WEIR_CONSTANTS("16", "c", "c") WEIR_CONSTANTS("32", "c", "c##U")
WEIR_CONSTANTS("64", "c##LL", "c##ULL") WEIR_CONSTANTS("MAX", "c##L", "c##UL")
R"(#endif
)";

inline constexpr const char* stddef_header = R"(
#ifndef WEIR_STDDEF
#define WEIR_STDDEF
typedef unsigned long size_t; typedef long ptrdiff_t;
typedef struct { alignas(16) long long weir_value; } max_align_t;
#ifndef NULL
#define NULL 0
#endif
#undef offsetof
#ifdef __CUDACC_RTC__
#define offsetof(type, member) ((size_t)__INTADDR__(&((type*)0)->member))
#else
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
namespace std {
using ::size_t; using ::ptrdiff_t; using ::max_align_t;
typedef decltype(nullptr) nullptr_t;
#if __cplusplus >= 201703L
enum class byte : unsigned char {};
#define WEIR_BYTE __host__ __device__ constexpr
WEIR_BYTE byte operator|(byte __a, byte __b) noexcept { return byte(unsigned(__a) | unsigned(__b)); }
WEIR_BYTE byte operator&(byte __a, byte __b) noexcept { return byte(unsigned(__a) & unsigned(__b)); }
WEIR_BYTE byte operator^(byte __a, byte __b) noexcept { return byte(unsigned(__a) ^ unsigned(__b)); }
WEIR_BYTE byte operator~(byte __a) noexcept { return byte(~unsigned(__a) & 255U); }
WEIR_BYTE byte& operator|=(byte& __a, byte __b) noexcept { return __a = __a | __b; }
WEIR_BYTE byte& operator&=(byte& __a, byte __b) noexcept { return __a = __a & __b; }
WEIR_BYTE byte& operator^=(byte& __a, byte __b) noexcept { return __a = __a ^ __b; }
template <class weir_T> WEIR_BYTE byte operator<<(byte __a, weir_T __by) noexcept {
  return byte((unsigned(__a) << __by) & 255U);
}
template <class weir_T> WEIR_BYTE byte operator>>(byte __a, weir_T __by) noexcept { return byte(unsigned(__a) >> __by); }
template <class weir_T> WEIR_BYTE byte& operator<<=(byte& __a, weir_T __by) noexcept { return __a = __a << __by; }
template <class weir_T> WEIR_BYTE byte& operator>>=(byte& __a, weir_T __by) noexcept { return __a = __a >> __by; }
template <class weir_T> WEIR_BYTE weir_T to_integer(byte __a) noexcept { return weir_T(__a); }
#undef WEIR_BYTE
#endif
}
#endif
)";

// For headers whose contents are built into NVRTC and HIPRTC.
inline constexpr const char* empty_header = "\n";

inline constexpr const char* limits_header = R"(
#ifndef WEIR_LIMITS
#define WEIR_LIMITS
)"
WEIR_MACRO("CHAR_BIT", "", "8") WEIR_MACRO("SCHAR_MIN", "", "(-128)") WEIR_MACRO("SCHAR_MAX", "", "127")
WEIR_MACRO("UCHAR_MAX", "", "255") WEIR_MACRO("CHAR_MIN", "", "SCHAR_MIN") WEIR_MACRO("CHAR_MAX", "", "SCHAR_MAX")
WEIR_MACRO("SHRT_MIN", "", "(-32768)") WEIR_MACRO("SHRT_MAX", "", "32767") WEIR_MACRO("USHRT_MAX", "", "65535")
WEIR_MACRO("INT_MIN", "", "(-2147483647 - 1)") WEIR_MACRO("INT_MAX", "", "2147483647")
WEIR_MACRO("UINT_MAX", "", "4294967295U") WEIR_MACRO("LONG_MIN", "", "(-9223372036854775807L - 1)")
WEIR_MACRO("LONG_MAX", "", "9223372036854775807L") WEIR_MACRO("ULONG_MAX", "", "18446744073709551615UL")
WEIR_MACRO("LLONG_MIN", "", "(-9223372036854775807LL - 1)") WEIR_MACRO("LLONG_MAX", "", "9223372036854775807LL")
WEIR_MACRO("ULLONG_MAX", "", "18446744073709551615ULL")
R"(
#endif
)";

inline constexpr const char* float_header = R"(
#ifndef WEIR_FLOAT
#define WEIR_FLOAT
)"
WEIR_MACRO("FLT_RADIX", "", "2") WEIR_MACRO("FLT_MANT_DIG", "", "24") WEIR_MACRO("FLT_DIG", "", "6")
WEIR_MACRO("FLT_MAX", "", "3.402823466e+38F") WEIR_MACRO("FLT_MIN", "", "1.175494351e-38F")
WEIR_MACRO("FLT_EPSILON", "", "1.192092896e-07F") WEIR_MACRO("DBL_MANT_DIG", "", "53") WEIR_MACRO("DBL_DIG", "", "15")
WEIR_MACRO("DBL_MAX", "", "1.7976931348623157e+308") WEIR_MACRO("DBL_MIN", "", "2.2250738585072014e-308")
WEIR_MACRO("DBL_EPSILON", "", "2.2204460492503131e-16")
R"(
#endif
)";

inline constexpr const char* math_header = R"(
#ifndef WEIR_MATH_HEADER
#define WEIR_MATH_HEADER
#undef INFINITY
#undef NAN
#undef HUGE_VAL
#ifdef __CUDACC_RTC__
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#else
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#endif
)"
WEIR_MACRO("HUGE_VALF", "", "INFINITY") WEIR_MACRO("M_E", "", "2.7182818284590452354")
WEIR_MACRO("M_LOG2E", "", "1.4426950408889634074") WEIR_MACRO("M_LOG10E", "", "0.43429448190325182765")
WEIR_MACRO("M_LN2", "", "0.69314718055994530942") WEIR_MACRO("M_LN10", "", "2.30258509299404568402")
WEIR_MACRO("M_PI", "", "3.14159265358979323846") WEIR_MACRO("M_PI_2", "", "1.57079632679489661923")
WEIR_MACRO("M_PI_4", "", "0.78539816339744830962") WEIR_MACRO("M_1_PI", "", "0.31830988618379067154")
WEIR_MACRO("M_2_PI", "", "0.63661977236758134308") WEIR_MACRO("M_2_SQRTPI", "", "1.12837916709551257390")
WEIR_MACRO("M_SQRT2", "", "1.41421356237309504880") WEIR_MACRO("M_SQRT1_2", "", "0.70710678118654752440")
R"(
namespace std {
using ::abs; using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan; using ::atan2; using ::atanh;
using ::cbrt; using ::ceil; using ::copysign; using ::cos; using ::cosh; using ::erf; using ::erfc; using ::exp;
using ::exp2; using ::expm1; using ::fabs; using ::fdim; using ::floor; using ::fma; using ::fmax; using ::fmin;
using ::fmod; using ::hypot; using ::isfinite; using ::isinf; using ::isnan; using ::ldexp; using ::lgamma; using ::log;
using ::log10; using ::log1p; using ::log2; using ::nearbyint; using ::pow; using ::rint; using ::round; using ::sin;
using ::sinh; using ::sqrt; using ::tan; using ::tanh; using ::tgamma; using ::trunc;
}
#endif
)";

#undef WEIR_MACRO
#undef WEIR_LIMITS
#undef WEIR_CONSTANTS
// clang-format on

inline constexpr const char* algorithm_header = R"(
#ifndef WEIR_ALGORITHM
#define WEIR_ALGORITHM
namespace std {
template <class weir_T>
__host__ __device__ constexpr const weir_T& min(const weir_T& __a, const weir_T& __b) {
  return __b < __a ? __b : __a;
}
template <class weir_T>
__host__ __device__ constexpr const weir_T& max(const weir_T& __a, const weir_T& __b) {
  return __a < __b ? __b : __a;
}
template <class weir_T> __host__ __device__ void swap(weir_T& __a, weir_T& __b) { weir_T __c = __a; __a = __b; __b = __c; }
}
#endif
)";

// A failed assertion ends the kernel with an error.
inline constexpr const char* assert_header = R"(
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#elif defined(__CUDACC_RTC__)
extern "C" __device__ void __assertfail(const char*, const char*, unsigned int, const char*, size_t);
#define assert(condition) ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, 1))
#else
#define assert(condition) ((condition) ? (void)0 : __builtin_trap())
#endif
)";

// `./` makes NVRTC use this text and not the toolkit's file of the same name. HIPRTC has half precision built in.
inline constexpr const char* half_header = R"(
#ifdef __CUDACC_RTC__
#include <./cuda_fp16.h>
#elif !defined(__HIPCC_RTC__)
#include <hip/hip_fp16.h>
#endif
)";

struct DeviceHeader {
  const char *name, *text;
};

/// For run-time compilers, which cannot read the system's headers. hipcc has its own files of these names.
inline constexpr DeviceHeader standard_headers[] = {
    {"cstdint", stdint_header},  {"stdint.h", stdint_header},
    {"cstddef", stddef_header},  {"stddef.h", stddef_header},
    {"climits", limits_header},  {"limits.h", limits_header},
    {"cfloat", float_header},    {"float.h", float_header},
    {"cassert", assert_header},  {"assert.h", assert_header},
    {"cmath", math_header},      {"math.h", math_header},
    {"algorithm", algorithm_header},
    {"cstdio", empty_header},    {"stdio.h", empty_header},
    {"hip/hip_runtime.h", empty_header},
    {"hip/hip_fp16.h", half_header},
};

/// For all compilers, including hipcc.
inline constexpr DeviceHeader device_headers[] = {
    {"cuda_runtime.h", empty_header},
    {"device_launch_parameters.h", empty_header},
    {"math_constants.h", math_constants_header},
    {"cuda_fp16.h", half_header},
    {"cuda_bf16.h", bfloat16_header},
    {"hip/hip_bf16.h", bfloat16_header},
    {"cooperative_groups.h", groups_header},
    {"cooperative_groups/reduce.h", groups_reduce_header},
    {"cooperative_groups/scan.h", groups_scan_header},
    {"hip/hip_cooperative_groups.h", groups_header},
    {first_header, kernel_header},
};

}  // namespace weir::kernels
