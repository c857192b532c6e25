// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/narrow.hpp"

/// The text of `<cuda_bf16.h>`, which also serves as `<hip/hip_bf16.h>`: bfloat16 under the names of CUDA and HIP. This
/// header defines the type for HIPRTC and for the CPU; NVRTC reads the toolkit's own file instead.
namespace weir::kernels {

inline constexpr auto bfloat16_text = joined(R"weir(
#ifndef WEIR_BFLOAT16
#define WEIR_BFLOAT16
#if defined(__CUDACC_RTC__) && !defined(__WEIR_HOST__) && !defined(WEIR_GPU)
#include <./cuda_bf16.h>
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
#elif defined(_HIP_INCLUDE_HIP_AMD_DETAIL_HIP_BF16_H_)
typedef __hip_bfloat16 __nv_bfloat16;
typedef __hip_bfloat162 __nv_bfloat162;
#else
)weir",
                                             narrow_base, R"weir(
#define WEIR_T __nv_bfloat16
#define WEIR_WORD bfloat16
#define WEIR_INFINITY 0x7f80u
#define WEIR_PTX "bf16"
#define WEIR_PTX_FUSES 800
#define WEIR_PTX_ADDS 900
#define WEIR_PTX_ADDS_IN_MEMORY 900
struct alignas(2) __nv_bfloat16_raw {
  unsigned short x;
};
struct alignas(2) __nv_bfloat16 {
  unsigned short __x;
  WEIR_N_MEMBER __nv_bfloat16(float __f) {
#if defined(WEIR_FOR_NVIDIA) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(__x) : "f"(__f));
#else
    unsigned int __u;
    __builtin_memcpy(&__u, &__f, 4);
    const bool __nan = (__u & 0x7fffffffu) > 0x7f800000u;
    __x = __nan ? (unsigned short)0x7fffu : (unsigned short)((__u + 0x7fffu + (__u >> 16 & 1u)) >> 16);
#endif
  }
  WEIR_N_MEMBER operator float() const {
    const unsigned int __u = (unsigned int)__x << 16;
    float __f;
    __builtin_memcpy(&__f, &__u, 4);
    return __f;
  }
)weir",
                                             narrow_members, "};\n", narrow_functions, R"weir(
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
#endif
#endif
)weir");
inline constexpr const char* bfloat16_header = bfloat16_text.data();

}  // namespace weir::kernels
