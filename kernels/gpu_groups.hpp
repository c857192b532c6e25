// SPDX-License-Identifier: Apache-2.0
#pragma once

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

inline constexpr const char* groups_header = R"weir(
#ifndef WEIR_COOPERATIVE_GROUPS
#define WEIR_COOPERATIVE_GROUPS
#ifdef __CUDACC_RTC__
// The toolkit's header includes libcu++, which declares these types in another way than <stdint.h>.
)weir" WEIR_TOOLKIT_HEADER("cooperative_groups.h") R"weir(#else
extern "C" __device__ __attribute__((convergent)) void __ockl_grid_sync(void);
#define cooperative_groups weir_cooperative_groups
namespace cooperative_groups {
#define WEIR_CG __device__ inline __attribute__((always_inline))
#define WEIR_CG_FREE static __device__ inline __attribute__((always_inline, unused))
namespace weir {
typedef unsigned long long __lanes;
WEIR_CG_FREE unsigned __lane() { return __lane_id(); }
WEIR_CG_FREE void __sync_wave() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
WEIR_CG_FREE unsigned __rank_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
WEIR_CG_FREE unsigned __block_size() { return blockDim.x * blockDim.y * blockDim.z; }
// Some lanes of a wavefront: the common part of coalesced groups and tiles.
struct __subset {
  __lanes __mask;
  WEIR_CG explicit __subset(__lanes __m) : __mask(__m) {}
  WEIR_CG unsigned long long size() const { return __popcll(__mask); }
  WEIR_CG unsigned long long num_threads() const { return size(); }
  WEIR_CG unsigned long long thread_rank() const { return __popcll(__mask & ((1ull << __lane()) - 1)); }
  WEIR_CG void sync() const { __sync_wave(); }
  WEIR_CG unsigned __lane_of(unsigned __rank) const {
    __lanes __left = __mask;
    while (__rank-- > 0) __left &= __left - 1;
    return __ffsll(__left) - 1;
  }
  template <class weir_T>
  WEIR_CG weir_T shfl(weir_T __v, unsigned __rank) const {
    return __shfl(__v, (int)__lane_of(__rank % (unsigned)size()));
  }
  template <class weir_T> WEIR_CG weir_T shfl_up(weir_T __v, unsigned __delta) const {
    const unsigned __rank = (unsigned)thread_rank();
    return __shfl(__v, (int)__lane_of(__rank >= __delta ? __rank - __delta : __rank));
  }
  template <class weir_T> WEIR_CG weir_T shfl_down(weir_T __v, unsigned __delta) const {
    const unsigned __rank = (unsigned)thread_rank();
    return __shfl(__v, (int)__lane_of(__rank + __delta < size() ? __rank + __delta : __rank));
  }
  // Bit i of the result is for the thread with rank i.
  WEIR_CG __lanes ballot(int __p) const {
    __lanes __ranks = 0, __yes = __ballot(__p);
    unsigned __r = 0;
    for (__lanes __left = __mask; __left != 0; __left &= __left - 1, ++__r)
      __ranks |= (__yes >> (__ffsll(__left) - 1) & 1ull) << __r;
    return __ranks;
  }
  WEIR_CG int any(int __p) const { return (__ballot(__p) & __mask) != 0; }
  WEIR_CG int all(int __p) const { return (__ballot(!__p) & __mask) == 0; }
};
}  // namespace weir

class thread_block {
 public:
  WEIR_CG static void sync() { __syncthreads(); }
  WEIR_CG static unsigned thread_rank() { return weir::__rank_in_block(); }
  WEIR_CG static unsigned size() { return weir::__block_size(); }
  WEIR_CG static unsigned num_threads() { return weir::__block_size(); }
  WEIR_CG static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  WEIR_CG static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  WEIR_CG static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  WEIR_CG static dim3 dim_threads() { return group_dim(); }
};
WEIR_CG_FREE thread_block this_thread_block() { return thread_block(); }

class grid_group {
 public:
  WEIR_CG static void sync() { __ockl_grid_sync(); }
  WEIR_CG static unsigned long long block_rank() {
    return (blockIdx.z * (unsigned long long)gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  WEIR_CG static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  WEIR_CG static unsigned long long thread_rank() { return block_rank() * weir::__block_size() + weir::__rank_in_block(); }
  WEIR_CG static unsigned long long size() { return num_blocks() * weir::__block_size(); }
  WEIR_CG static unsigned long long num_threads() { return size(); }
  WEIR_CG static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  WEIR_CG static dim3 dim_blocks() { return group_dim(); }
};
WEIR_CG_FREE grid_group this_grid() { return grid_group(); }

template <unsigned weir_N, class weir_Parent = void>
class thread_block_tile {
  static_assert(weir_N != 0 && (weir_N & (weir_N - 1)) == 0 && weir_N <= 64,
                "a tile has a power of two of threads, no more than a warp");
  unsigned weir_meta_rank, weir_meta_size;

 public:
  WEIR_CG thread_block_tile(unsigned __rank, unsigned __size) : weir_meta_rank(__rank), weir_meta_size(__size) {}
  template <class weir_Other>
  WEIR_CG thread_block_tile(const thread_block_tile<weir_N, weir_Other>& __o)
      : weir_meta_rank(__o.meta_group_rank()), weir_meta_size(__o.meta_group_size()) {}
  WEIR_CG static unsigned thread_rank() { return weir::__rank_in_block() % weir_N; }
  WEIR_CG static constexpr unsigned size() { return weir_N; }
  WEIR_CG static constexpr unsigned num_threads() { return weir_N; }
  WEIR_CG unsigned meta_group_rank() const { return weir_meta_rank; }
  WEIR_CG unsigned meta_group_size() const { return weir_meta_size; }
  WEIR_CG static void sync() { weir::__sync_wave(); }
  template <class weir_T> WEIR_CG weir_T shfl(weir_T __v, int __rank) const { return __shfl(__v, __rank, (int)weir_N); }
  template <class weir_T>
  WEIR_CG weir_T shfl_up(weir_T __v, unsigned __delta) const {
    return __shfl_up(__v, __delta, (int)weir_N);
  }
  template <class weir_T>
  WEIR_CG weir_T shfl_down(weir_T __v, unsigned __delta) const {
    return __shfl_down(__v, __delta, (int)weir_N);
  }
  template <class weir_T>
  WEIR_CG weir_T shfl_xor(weir_T __v, int __mask) const {
    return __shfl_xor(__v, __mask, (int)weir_N);
  }
  WEIR_CG unsigned long long ballot(int __p) const {
    const unsigned long long __bits = __ballot(__p) >> (weir::__lane() / weir_N * weir_N);
    return weir_N == 64 ? __bits : __bits & ((1ull << (weir_N % 64)) - 1);
  }
  WEIR_CG int any(int __p) const { return ballot(__p) != 0; }
  WEIR_CG int all(int __p) const { return ballot(!__p) == 0; }
  template <class weir_T> WEIR_CG unsigned long long match_any(weir_T __v) const {
    unsigned long long __same = 0;
    for (unsigned __r = 0; __r < weir_N; ++__r) __same |= (unsigned long long)(shfl(__v, (int)__r) == __v) << __r;
    return __same;
  }
};
template <unsigned weir_N, class weir_Parent>
WEIR_CG thread_block_tile<weir_N, weir_Parent> tiled_partition(const weir_Parent& __parent) {
  return thread_block_tile<weir_N, weir_Parent>((unsigned)__parent.thread_rank() / weir_N,
                                           ((unsigned)__parent.size() + weir_N - 1) / weir_N);
}

class coalesced_group : public weir::__subset {
 public:
  WEIR_CG explicit coalesced_group(weir::__lanes __mask) : weir::__subset(__mask) {}
};
WEIR_CG_FREE coalesced_group coalesced_threads() { return coalesced_group(__ballot(1)); }

// A block, or a tile whose size is known only at run time.
class thread_group {
  unsigned weir_size;  // 0: the block
  unsigned weir_first;
  weir::__lanes weir_mask;
  WEIR_CG weir::__subset __lanes() const { return weir::__subset(weir_mask); }

 public:
  WEIR_CG thread_group(unsigned __size, weir::__lanes __mask)
      : weir_size(__size), weir_first(weir::__rank_in_block() / (__size == 0 ? 1 : __size)), weir_mask(__mask) {}
  WEIR_CG thread_group(const thread_block&) : thread_group(0, 0) {}
  WEIR_CG thread_group(const coalesced_group& __g) : thread_group((unsigned)__g.size(), __g.__mask) {}
  template <unsigned weir_N, class weir_P> WEIR_CG thread_group(const thread_block_tile<weir_N, weir_P>&)
      : thread_group(weir_N, (weir_N == 64 ? ~0ull : (1ull << (weir_N % 64)) - 1) << (weir::__lane() / weir_N * weir_N)) {}
  WEIR_CG unsigned size() const { return weir_size == 0 ? weir::__block_size() : weir_size; }
  WEIR_CG unsigned num_threads() const { return size(); }
  WEIR_CG unsigned thread_rank() const {
    return weir_size == 0 ? weir::__rank_in_block() : (unsigned)__lanes().thread_rank();
  }
  WEIR_CG void sync() const { if (weir_size == 0) __syncthreads(); else weir::__sync_wave(); }
};
template <class weir_Parent>
WEIR_CG thread_group tiled_partition(const weir_Parent&, unsigned __n) {
  return thread_group(__n, (__n >= 64 ? ~0ull : (1ull << __n) - 1) << (weir::__lane() / __n * __n));
}

template <class weir_G> WEIR_CG void sync(const weir_G& __g) { __g.sync(); }
#define WEIR_OPERATION(name, expression)                                                     \
  template <class weir_T>                                                                    \
  struct name {                                                                              \
    WEIR_CG weir_T operator()(weir_T __a, weir_T __b) const { return (weir_T)(expression); } \
  };
WEIR_OPERATION(plus, __a + __b)
WEIR_OPERATION(less, __b < __a ? __b : __a)
WEIR_OPERATION(greater, __a < __b ? __b : __a)
WEIR_OPERATION(bit_and, __a & __b)
WEIR_OPERATION(bit_or, __a | __b)
WEIR_OPERATION(bit_xor, __a ^ __b)
#undef WEIR_OPERATION
template <unsigned weir_N, class weir_P, class weir_T, class weir_Op>
WEIR_CG weir_T reduce(const thread_block_tile<weir_N, weir_P>& __g, weir_T __v, weir_Op __op) {
  for (int __k = (int)weir_N / 2; __k > 0; __k /= 2) __v = __op(__v, __g.shfl_xor(__v, __k));
  return __v;
}
// Returns the threads of the group that pass the same label as the calling thread.
template <class weir_T>
WEIR_CG coalesced_group labeled_partition(const coalesced_group& __g, weir_T __label) {
  weir::__lanes __same = 0;
  for (weir::__lanes __left = __g.__mask; __left != 0; __left &= __left - 1) {
    const int __lane = __ffsll(__left) - 1;
    if (__shfl(__label, __lane) == __label) __same |= 1ull << __lane;
  }
  return coalesced_group(__same);
}
template <unsigned weir_N, class weir_P, class weir_T>
WEIR_CG coalesced_group labeled_partition(const thread_block_tile<weir_N, weir_P>&, weir_T __label) {
  const weir::__lanes __tile = (weir_N == 64 ? ~0ull : (1ull << (weir_N % 64)) - 1) << (weir::__lane() / weir_N * weir_N);
  return labeled_partition(coalesced_group(__ballot(1) & __tile), __label);
}
template <class weir_G>
WEIR_CG coalesced_group binary_partition(const weir_G& __g, bool __p) { return labeled_partition(__g, (int)__p); }
template <class weir_T, class weir_Op>
WEIR_CG weir_T reduce(const coalesced_group& __g, weir_T __v, weir_Op __op) {
  weir_T __sum = __g.shfl(__v, 0);
  for (unsigned __r = 1; __r < __g.size(); ++__r) __sum = __op(__sum, __g.shfl(__v, __r));
  return __sum;
}
// Returns the result over the threads of the group up to the calling thread.
template <unsigned weir_N, class weir_P, class weir_T, class weir_Op>
WEIR_CG weir_T inclusive_scan(const thread_block_tile<weir_N, weir_P>& __g, weir_T __v, weir_Op __op) {
  for (unsigned __k = 1; __k < weir_N; __k *= 2) {
    const weir_T __before = __g.shfl_up(__v, __k);
    if (__g.thread_rank() >= __k) __v = __op(__before, __v);
  }
  return __v;
}
template <class weir_T, class weir_Op>
WEIR_CG weir_T inclusive_scan(const coalesced_group& __g, weir_T __v, weir_Op __op) {
  weir_T __sum = __g.shfl(__v, 0), __own = __sum;
  for (unsigned __r = 1; __r < __g.size(); ++__r) {
    __sum = __op(__sum, __g.shfl(__v, __r));
    if (__r == __g.thread_rank()) __own = __sum;
  }
  return __own;
}
template <class weir_G, class weir_T> WEIR_CG weir_T inclusive_scan(const weir_G& __g, weir_T __v) {
  return inclusive_scan(__g, __v, plus<weir_T>());
}
// Leaves out the calling thread's own value. The first thread gets zero.
template <class weir_G, class weir_T, class weir_Op>
WEIR_CG weir_T exclusive_scan(const weir_G& __g, weir_T __v, weir_Op __op) {
  const weir_T __before = __g.shfl_up(inclusive_scan(__g, __v, __op), 1);
  return __g.thread_rank() == 0 ? weir_T() : __before;
}
template <class weir_G, class weir_T> WEIR_CG weir_T exclusive_scan(const weir_G& __g, weir_T __v) {
  return exclusive_scan(__g, __v, plus<weir_T>());
}
#undef WEIR_CG
#undef WEIR_CG_FREE
}  // namespace cooperative_groups
#endif
#endif
)weir";

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
