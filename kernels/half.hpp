// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/narrow.hpp"

/// The text of `<cuda_fp16.h>`, which also serves as `<hip/hip_fp16.h>`, for the CPU: half precision under the names that
/// CUDA and HIP share.
namespace weir::kernels {

inline constexpr auto half_text = joined("#ifndef WEIR_HALF\n#define WEIR_HALF\n", narrow_base, R"weir(
#define WEIR_T __half
#define WEIR_WORD half
#define WEIR_INFINITY 0x7c00u
#define WEIR_PTX "f16"
#define WEIR_PTX_FUSES 530
#define WEIR_PTX_ADDS 530
#define WEIR_PTX_ADDS_IN_MEMORY 700
namespace weir_host {
// Clang 14 supports _Float16 only for few processors, but __fp16 for all.
#ifdef __clang__
using half_value = __fp16;
#else
using half_value = _Float16;
#endif
}  // namespace weir_host
struct alignas(2) __half_raw {
  unsigned short x;
};
struct alignas(2) __half {
  weir_host::half_value weir_value;
  WEIR_N_MEMBER __half(float __v) : weir_value((weir_host::half_value)__v) {}
  WEIR_N_MEMBER operator float() const { return (float)weir_value; }
)weir",
                                         narrow_members, "};\n", narrow_functions, R"weir(
typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
#endif
)weir");
inline constexpr const char* half_header = half_text.data();

}  // namespace weir::kernels
