// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The text of `<cuda_fp8.h>` for the CPU: numbers of 8 bits, which are kept in memory and computed in float.
namespace weir::kernels {

inline constexpr const char* fp8_header = R"weir(#ifndef WEIR_FP8_TYPES
#define WEIR_FP8_TYPES
#include <cuda_fp16.h>
namespace weir_host {
// `mantissa`: its bits; `least`: the exponent of subnormal numbers; `greatest`: the code of the greatest finite number.
template <int __mantissa, int __least, int __greatest>
WEIR_BOTH inline unsigned char fp8_encoded(float __value) {
  const unsigned char __sign = __builtin_signbit(__value) ? 0x80 : 0;
  if (__value != __value) return __sign | 0x7f;
  const float __size = __builtin_fabsf(__value);
  if (__size > 1e5f) return __sign | __greatest;
  int __exponent = __size > 0 ? ilogbf(__size) : __least;
  if (__exponent < __least) __exponent = __least;
  const int __code =
      ((__exponent - __least) << __mantissa) + (int)__builtin_rintf(__builtin_ldexpf(__size, __mantissa - __exponent));
  return __sign | (unsigned char)(__code < __greatest ? __code : __greatest);
}
template <int __mantissa, int __least, int __greatest>
WEIR_BOTH inline float fp8_decoded(unsigned char __code) {
  const int __bits = __code & 0x7f, __exponent = __bits >> __mantissa, __fraction = __bits & ((1 << __mantissa) - 1);
  float __value = __exponent == 0
                      ? __builtin_ldexpf((float)__fraction, __least - __mantissa)
                      : __builtin_ldexpf((float)(__fraction + (1 << __mantissa)), __exponent - 1 + __least - __mantissa);
  if (__bits > __greatest) __value = __mantissa == 2 && __bits == 0x7c ? __builtin_huge_valf() : __builtin_nanf("");
  return (__code & 0x80) != 0 ? -__value : __value;
}
}  // namespace weir_host
typedef unsigned char __nv_fp8_storage_t;
#define WEIR_FP8(name, ...)                                                                         \
  struct __attribute__((aligned(1))) name {                                                         \
    __nv_fp8_storage_t __x;                                                                         \
    name() = default;                                                                               \
    template <class weir_T>                                                                         \
    WEIR_BOTH explicit name(weir_T __value) : __x(weir_host::fp8_encoded<__VA_ARGS__>((float)__value)) {}\
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
