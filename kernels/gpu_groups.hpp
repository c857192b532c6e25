// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/groups.hpp"
#include "kernels/joined.hpp"
#include "kernels/lane_functions.hpp"

/// Functions that kernels can use without an include, and the text of `<cooperative_groups.h>`. On NVIDIA GPUs, NVRTC reads
/// the toolkit's own file; for AMD GPUs both are defined here. HIP's own groups lack `reduce` and `plus` before 7.13, and
/// scans before 10.0. They are built into HIPRTC, so Weir's groups have another name. HIP's own warp functions accept no
/// 32-bit masks, even where a wavefront has 32 lanes; HIP_DISABLE_WARP_SYNC_BUILTINS removes those functions.
namespace weir::kernels {

/// The text of a header that is included before every kernel. It has the declarations that nvcc includes before the first
/// line and other compilers do not. (hipcc includes <hip/hip_runtime.h> and the system's headers first.)
///
/// All names begin with weir_, so that no macro of the program, such as -DT=float, changes this text. A mask has as many
/// bits as a wavefront has lanes. A 32-bit mask would name only half of the lanes of a 64-lane wavefront, so it is refused.
inline constexpr const char* first_header = "weir_kernel.h";
inline constexpr const char* kernel_header = R"weir(
#include <math.h>
#ifndef NULL
#define NULL 0
#endif
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
#ifndef __CUDACC_RTC__
#include <assert.h>
typedef long clock_t;
static inline __device__ __attribute__((unused)) void __nanosleep(unsigned int) { __builtin_amdgcn_s_sleep(1); }
#define WEIR_ATOMIC(name)                                                                         \
  template <class weir_T, class weir_V>                                                           \
  static inline __device__ auto name##_block(weir_T* __p, weir_V __v)->decltype(name(__p, __v)) { \
    return name(__p, __v);                                                                        \
  }
WEIR_ATOMIC(atomicAdd)
WEIR_ATOMIC(atomicSub)
WEIR_ATOMIC(atomicExch)
WEIR_ATOMIC(atomicMin)
WEIR_ATOMIC(atomicMax)
WEIR_ATOMIC(atomicInc)
WEIR_ATOMIC(atomicDec)
WEIR_ATOMIC(atomicAnd)
WEIR_ATOMIC(atomicOr)
WEIR_ATOMIC(atomicXor)
#undef WEIR_ATOMIC
template <class weir_T, class weir_C, class weir_V>
static inline __device__ auto atomicCAS_block(weir_T* __p, weir_C __c, weir_V __v) -> decltype(atomicCAS(__p, __c, __v)) {
  return atomicCAS(__p, __c, __v);
}
#define WEIR_WARP static inline __device__ __attribute__((always_inline, unused))
#define WEIR_SHARED __attribute__((address_space(3)))
WEIR_WARP unsigned int __isShared(const void* __p) {
  return __builtin_amdgcn_is_shared((const __attribute__((address_space(0))) void*)__p);
}
WEIR_WARP unsigned int __isLocal(const void* __p) {
  return __builtin_amdgcn_is_private((const __attribute__((address_space(0))) void*)__p);
}
WEIR_WARP unsigned int __isGlobal(const void* __p) { return !__isShared(__p) && !__isLocal(__p); }
WEIR_WARP size_t __cvta_generic_to_shared(const void* __p) { return (unsigned int)(const WEIR_SHARED char*)__p; }
WEIR_WARP void* __cvta_shared_to_generic(size_t __x) { return (void*)(WEIR_SHARED char*)(unsigned int)__x; }
WEIR_WARP size_t __cvta_generic_to_global(const void* __p) { return (size_t)__p; }
WEIR_WARP void* __cvta_global_to_generic(size_t __x) { return (void*)__x; }
#undef WEIR_SHARED
template <class weir_M>
WEIR_WARP void weir_check_mask() {
#if defined(__GFX8__) || defined(__GFX9__)
  static_assert(sizeof(weir_M) == 8,
                "the mask must have 64 bits, since warps of this device have 64 lanes: write ~0ull for all of them");
#endif
}
#define WEIR_SHUFFLE(name)                                                          \
  template <class weir_M, class weir_T>                                             \
  WEIR_WARP weir_T name##_sync(weir_M, weir_T __v, int weir_lane) {                 \
    weir_check_mask<weir_M>();                                                      \
    return name(__v, weir_lane);                                                    \
  }                                                                                 \
  template <class weir_M, class weir_T>                                             \
  WEIR_WARP weir_T name##_sync(weir_M, weir_T __v, int weir_lane, int weir_width) { \
    weir_check_mask<weir_M>();                                                      \
    return name(__v, weir_lane, weir_width);                                        \
  }
WEIR_SHUFFLE(__shfl)
WEIR_SHUFFLE(__shfl_up)
WEIR_SHUFFLE(__shfl_down)
WEIR_SHUFFLE(__shfl_xor)
#undef WEIR_SHUFFLE
#if defined(__GFX8__) || defined(__GFX9__)
typedef unsigned long long weir_lanes;
#else
typedef unsigned int weir_lanes;
#endif
template <class weir_M>
WEIR_WARP unsigned long long __ballot_sync(weir_M __mask, int __p) {
  weir_check_mask<weir_M>();
  return (weir_lanes)(__ballot(__p) & __mask);
}
template <class weir_M> WEIR_WARP int __any_sync(weir_M __mask, int __p) { return __ballot_sync(__mask, __p) != 0; }
template <class weir_M> WEIR_WARP int __all_sync(weir_M __mask, int __p) { return __ballot_sync(__mask, !__p) == 0; }
WEIR_WARP unsigned long long __activemask() { return (weir_lanes)__ballot(1); }
WEIR_WARP void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <class weir_M> WEIR_WARP void __syncwarp(weir_M) { weir_check_mask<weir_M>(); __syncwarp(); }
template <class weir_M, class weir_T> WEIR_WARP unsigned long long __match_any_sync(weir_M __mask, weir_T __v) {
  weir_check_mask<weir_M>();
  unsigned long long weir_mine = 0;
  for (unsigned long long weir_left = (weir_lanes)(__ballot(1) & __mask); weir_left != 0; weir_left &= weir_left - 1) {
    const int weir_lane = __ffsll(weir_left) - 1;
    if (__shfl(__v, weir_lane) == __v) weir_mine |= 1ull << weir_lane;
  }
  return weir_mine;
}
template <class weir_M, class weir_T> WEIR_WARP unsigned long long __match_all_sync(weir_M __mask, weir_T __v, int* __same) {
  weir_check_mask<weir_M>();
  const unsigned long long __here = (weir_lanes)(__ballot(1) & __mask);
  *__same = __all_sync(__mask, __shfl(__v, __ffsll(__here) - 1) == __v);
  return *__same ? __here : 0;
}
#define WEIR_REDUCE(name, expression)                                              \
  template <class weir_M, class weir_T>                                            \
  WEIR_WARP weir_T name(weir_M __mask, weir_T __v) {                               \
    weir_check_mask<weir_M>();                                                     \
    unsigned long long weir_left = (weir_lanes)(__ballot(1) & __mask);             \
    if (weir_left == (weir_lanes)~0ull) {                                          \
      weir_T __x = __v;                                                            \
      for (int __k = (int)sizeof(weir_lanes) * 4; __k > 0; __k /= 2) {             \
        const weir_T __y = __shfl_xor(__x, __k);                                   \
        __x = expression;                                                          \
      }                                                                            \
      return __x;                                                                  \
    }                                                                              \
    weir_T __x = __shfl(__v, __ffsll(weir_left) - 1);                              \
    for (weir_left &= weir_left - 1; weir_left != 0; weir_left &= weir_left - 1) { \
      const weir_T __y = __shfl(__v, __ffsll(weir_left) - 1);                      \
      __x = expression;                                                            \
    }                                                                              \
    return __x;                                                                    \
  }
WEIR_REDUCE(__reduce_add_sync, __x + __y)
WEIR_REDUCE(__reduce_min_sync, (__y < __x ? __y : __x))
WEIR_REDUCE(__reduce_max_sync, (__x < __y ? __y : __x))
WEIR_REDUCE(__reduce_and_sync, __x & __y)
WEIR_REDUCE(__reduce_or_sync, __x | __y)
WEIR_REDUCE(__reduce_xor_sync, __x ^ __y)
#undef WEIR_REDUCE
#undef WEIR_WARP
#endif
)weir";

/// For HIPRTC and hipcc: removes HIP's own functions with masks, which would conflict with Weir's.
inline constexpr const char* without_masks_option = "-DHIP_DISABLE_WARP_SYNC_BUILTINS";

// NVRTC reads the toolkit's own header of that name. That header includes libcu++, which declares these types in another way
// than <stdint.h>.
#define WEIR_LIBCUXX_TYPES(X) \
  X(int_fast16_t) X(int_fast32_t) X(int_fast64_t) X(uint_fast16_t) X(uint_fast32_t) X(uint_fast64_t) \
  X(intptr_t) X(uintptr_t) X(intmax_t) X(uintmax_t)
#define WEIR_RENAME(type) "#define " #type " weir_" #type "\n"
#define WEIR_RESTORE(type) "#undef " #type "\n"
#define WEIR_TOOLKIT_HEADER(name) \
  WEIR_LIBCUXX_TYPES(WEIR_RENAME) "#include <./" name ">\n" WEIR_LIBCUXX_TYPES(WEIR_RESTORE)

inline constexpr auto groups_on_gpu = joined(R"weir(
#ifdef __CUDACC_RTC__
// The toolkit's header includes libcu++, which declares these types in another way than <stdint.h>.
)weir" WEIR_TOOLKIT_HEADER("cooperative_groups.h") R"weir(#elif !defined(WEIR_COOPERATIVE_GROUPS)
extern "C" __device__ __attribute__((convergent)) void __ockl_grid_sync(void);
#define cooperative_groups weir_cooperative_groups
#ifndef WEIR_BOTH
#define WEIR_BOTH __device__
#endif
#define WEIR_ALWAYS_INLINE static inline __device__ __attribute__((always_inline, unused))
#define WEIR_RANKS unsigned long long  // as in HIP, whose __ffsll is ambiguous for 32 bits
#define WEIR_HERE int weir_file = 0, int weir_line = 0
#define WEIR_AT(name) ((void)weir_file, (void)weir_line)
#define WEIR_SET_PLACE(name, file, line, number) ((void)file, (void)line, (void)number)
WEIR_ALWAYS_INLINE int __weir_lane() { return (int)__lane_id(); }
WEIR_ALWAYS_INLINE void __weir_barrier() { __syncthreads(); }
WEIR_ALWAYS_INLINE void __weir_grid_barrier() { __ockl_grid_sync(); }
WEIR_ALWAYS_INLINE void __weir_warp_barrier(weir_lanes) { __syncwarp(); }
WEIR_ALWAYS_INLINE weir_lanes __weir_active() { return (weir_lanes)__ballot(1); }
WEIR_ALWAYS_INLINE weir_lanes __weir_ballot(weir_lanes __mask, int __p) { return (weir_lanes)(__ballot(__p) & __mask); }
WEIR_ALWAYS_INLINE unsigned int __weir_shuffle32(weir_lanes, unsigned int __v, int __lane) {
  return (unsigned int)__builtin_amdgcn_ds_bpermute(__lane * 4, (int)__v);
}
WEIR_ALWAYS_INLINE unsigned long long __weir_shuffle64(weir_lanes __mask, unsigned long long __v, int __lane) {
  return (unsigned long long)__weir_shuffle32(__mask, (unsigned int)(__v >> 32), __lane) << 32 |
         __weir_shuffle32(__mask, (unsigned int)__v, __lane);
}
namespace weir_host {
typedef weir_lanes lane_bits;
constexpr lane_bits all_lanes = (lane_bits)~0ull;
WEIR_ALWAYS_INLINE unsigned int linear_thread() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
}  // namespace weir_host
)weir", lane_functions, groups_text, "#endif\n");
inline constexpr const char* groups_header = groups_on_gpu.data();

inline constexpr const char* groups_reduce_header = R"weir(
#include <cooperative_groups.h>
#ifdef __CUDACC_RTC__
)weir" WEIR_TOOLKIT_HEADER("cooperative_groups/reduce.h") R"weir(#endif
)weir";

inline constexpr const char* groups_scan_header = R"weir(
#include <cooperative_groups.h>
#ifdef __CUDACC_RTC__
)weir" WEIR_TOOLKIT_HEADER("cooperative_groups/scan.h") R"weir(#endif
)weir";

#undef WEIR_TOOLKIT_HEADER
#undef WEIR_RESTORE
#undef WEIR_RENAME
#undef WEIR_LIBCUXX_TYPES

}  // namespace weir::kernels
