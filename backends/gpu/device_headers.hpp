// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

/// The headers that kernels for all backends may include. NVRTC brings none; HIPRTC has the integers of exact width built in
/// up to 6.4, the same ones, and not since. They hide the compiler's own, and so have the types and macros that those have.
namespace weir::gpu {

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

#undef WEIR_MACRO
#undef WEIR_LIMITS
#undef WEIR_CONSTANTS
// clang-format on

inline constexpr const char* stddef_header = R"(
#ifndef WEIR_STDDEF
#define WEIR_STDDEF
typedef unsigned long size_t; typedef long ptrdiff_t;
typedef struct { alignas(16) long long value; } max_align_t;
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
WEIR_BYTE byte operator|(byte a, byte b) noexcept { return byte(unsigned(a) | unsigned(b)); }
WEIR_BYTE byte operator&(byte a, byte b) noexcept { return byte(unsigned(a) & unsigned(b)); }
WEIR_BYTE byte operator^(byte a, byte b) noexcept { return byte(unsigned(a) ^ unsigned(b)); }
WEIR_BYTE byte operator~(byte a) noexcept { return byte(~unsigned(a) & 255U); }
WEIR_BYTE byte& operator|=(byte& a, byte b) noexcept { return a = a | b; }
WEIR_BYTE byte& operator&=(byte& a, byte b) noexcept { return a = a & b; }
WEIR_BYTE byte& operator^=(byte& a, byte b) noexcept { return a = a ^ b; }
template <class T> WEIR_BYTE byte operator<<(byte a, T shift) noexcept { return byte((unsigned(a) << shift) & 255U); }
template <class T> WEIR_BYTE byte operator>>(byte a, T shift) noexcept { return byte(unsigned(a) >> shift); }
template <class T> WEIR_BYTE byte& operator<<=(byte& a, T shift) noexcept { return a = a << shift; }
template <class T> WEIR_BYTE byte& operator>>=(byte& a, T shift) noexcept { return a = a >> shift; }
template <class T> WEIR_BYTE T to_integer(byte a) noexcept { return T(a); }
#undef WEIR_BYTE
#endif
}
#endif
)";

inline constexpr std::array device_header_names = {"cstdint", "stdint.h", "cstddef", "stddef.h"};
inline constexpr std::array device_header_texts = {stdint_header, stdint_header, stddef_header, stddef_header};

}  // namespace weir::gpu
