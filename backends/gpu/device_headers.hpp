// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

/// The headers that kernels for all backends may include. NVRTC brings none; HIPRTC has the integers of exact width built in
/// up to 6.4, the same ones, and not since. They hide the compiler's own, and so have the types and macros that those have.
namespace weir::gpu {

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
#undef INT8_MIN
#define INT8_MIN (-127 - 1)
#undef INT8_MAX
#define INT8_MAX 127
#undef UINT8_MAX
#define UINT8_MAX 255
#undef INT16_MIN
#define INT16_MIN (-32767 - 1)
#undef INT16_MAX
#define INT16_MAX 32767
#undef UINT16_MAX
#define UINT16_MAX 65535
#undef INT32_MIN
#define INT32_MIN (-2147483647 - 1)
#undef INT32_MAX
#define INT32_MAX 2147483647
#undef UINT32_MAX
#define UINT32_MAX 4294967295U
#undef INT64_MIN
#define INT64_MIN (-9223372036854775807LL - 1)
#undef INT64_MAX
#define INT64_MAX 9223372036854775807LL
#undef UINT64_MAX
#define UINT64_MAX 18446744073709551615ULL
#undef INT_LEAST8_MIN
#define INT_LEAST8_MIN (-127 - 1)
#undef INT_LEAST8_MAX
#define INT_LEAST8_MAX 127
#undef UINT_LEAST8_MAX
#define UINT_LEAST8_MAX 255
#undef INT_LEAST16_MIN
#define INT_LEAST16_MIN (-32767 - 1)
#undef INT_LEAST16_MAX
#define INT_LEAST16_MAX 32767
#undef UINT_LEAST16_MAX
#define UINT_LEAST16_MAX 65535
#undef INT_LEAST32_MIN
#define INT_LEAST32_MIN (-2147483647 - 1)
#undef INT_LEAST32_MAX
#define INT_LEAST32_MAX 2147483647
#undef UINT_LEAST32_MAX
#define UINT_LEAST32_MAX 4294967295U
#undef INT_LEAST64_MIN
#define INT_LEAST64_MIN (-9223372036854775807LL - 1)
#undef INT_LEAST64_MAX
#define INT_LEAST64_MAX 9223372036854775807LL
#undef UINT_LEAST64_MAX
#define UINT_LEAST64_MAX 18446744073709551615ULL
#undef INT_FAST8_MIN
#define INT_FAST8_MIN (-127 - 1)
#undef INT_FAST8_MAX
#define INT_FAST8_MAX 127
#undef UINT_FAST8_MAX
#define UINT_FAST8_MAX 255
#undef INT_FAST16_MIN
#define INT_FAST16_MIN (-9223372036854775807L - 1)
#undef INT_FAST16_MAX
#define INT_FAST16_MAX 9223372036854775807L
#undef UINT_FAST16_MAX
#define UINT_FAST16_MAX 18446744073709551615UL
#undef INT_FAST32_MIN
#define INT_FAST32_MIN (-9223372036854775807L - 1)
#undef INT_FAST32_MAX
#define INT_FAST32_MAX 9223372036854775807L
#undef UINT_FAST32_MAX
#define UINT_FAST32_MAX 18446744073709551615UL
#undef INT_FAST64_MIN
#define INT_FAST64_MIN (-9223372036854775807L - 1)
#undef INT_FAST64_MAX
#define INT_FAST64_MAX 9223372036854775807L
#undef UINT_FAST64_MAX
#define UINT_FAST64_MAX 18446744073709551615UL
#undef INTPTR_MIN
#define INTPTR_MIN (-9223372036854775807L - 1)
#undef INTPTR_MAX
#define INTPTR_MAX 9223372036854775807L
#undef UINTPTR_MAX
#define UINTPTR_MAX 18446744073709551615UL
#undef INTMAX_MIN
#define INTMAX_MIN (-9223372036854775807L - 1)
#undef INTMAX_MAX
#define INTMAX_MAX 9223372036854775807L
#undef UINTMAX_MAX
#define UINTMAX_MAX 18446744073709551615UL
#undef PTRDIFF_MIN
#define PTRDIFF_MIN (-9223372036854775807L - 1)
#undef PTRDIFF_MAX
#define PTRDIFF_MAX 9223372036854775807L
#undef SIZE_MAX
#define SIZE_MAX 18446744073709551615UL
#undef INT8_C
#define INT8_C(c) c
#undef UINT8_C
#define UINT8_C(c) c
#undef INT16_C
#define INT16_C(c) c
#undef UINT16_C
#define UINT16_C(c) c
#undef INT32_C
#define INT32_C(c) c
#undef UINT32_C
#define UINT32_C(c) c##U
#undef INT64_C
#define INT64_C(c) c##LL
#undef UINT64_C
#define UINT64_C(c) c##ULL
#undef INTMAX_C
#define INTMAX_C(c) c##L
#undef UINTMAX_C
#define UINTMAX_C(c) c##UL
#endif
)";

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
