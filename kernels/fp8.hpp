// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The text of `<cuda_fp8.h>` for the CPU: numbers of 8 bits, which are kept in memory and computed in float.
namespace weir::kernels {

inline constexpr const char* fp8_header = R"weir(#ifndef WEIR_FP8_TYPES
#define WEIR_FP8_TYPES
#include <cuda_fp16.h>
namespace weir_host {
// `mantissa`: its bits; `least`: the exponent of subnormal numbers; `greatest`: the code of the greatest finite number.
template <int mantissa, int least, int greatest>
WEIR_BOTH inline unsigned char fp8_encoded(float value) {
  const unsigned char sign = __builtin_signbit(value) ? 0x80 : 0;
  if (value != value) return sign | 0x7f;
  const float size = __builtin_fabsf(value);
  if (size > 1e5f) return sign | greatest;
  int exponent = size > 0 ? ilogbf(size) : least;
  if (exponent < least) exponent = least;
  const int code = ((exponent - least) << mantissa) + (int)__builtin_rintf(__builtin_ldexpf(size, mantissa - exponent));
  return sign | (unsigned char)(code < greatest ? code : greatest);
}
template <int mantissa, int least, int greatest>
WEIR_BOTH inline float fp8_decoded(unsigned char code) {
  const int bits = code & 0x7f, exponent = bits >> mantissa, fraction = bits & ((1 << mantissa) - 1);
  float value = exponent == 0 ? __builtin_ldexpf((float)fraction, least - mantissa)
                              : __builtin_ldexpf((float)(fraction + (1 << mantissa)), exponent - 1 + least - mantissa);
  if (bits > greatest) value = mantissa == 2 && bits == 0x7c ? __builtin_huge_valf() : __builtin_nanf("");
  return (code & 0x80) != 0 ? -value : value;
}
}  // namespace weir_host
typedef unsigned char __nv_fp8_storage_t;
#define WEIR_FP8(name, ...)                                                                         \
  struct __attribute__((aligned(1))) name {                                                         \
    __nv_fp8_storage_t __x;                                                                         \
    name() = default;                                                                               \
    template <class weir_T>                                                                         \
    WEIR_BOTH explicit name(weir_T value) : __x(weir_host::fp8_encoded<__VA_ARGS__>((float)value)) {}\
    WEIR_BOTH explicit operator float() const { return weir_host::fp8_decoded<__VA_ARGS__>(__x); }  \
    WEIR_BOTH explicit operator double() const { return (float)*this; }                             \
    WEIR_BOTH explicit operator __half() const { return __half((float)*this); }                     \
  };
WEIR_FP8(__nv_fp8_e4m3, 3, -6, 0x7e)
WEIR_FP8(__nv_fp8_e5m2, 2, -14, 0x7b)
#undef WEIR_FP8
#endif
)weir";

}  // namespace weir::kernels
