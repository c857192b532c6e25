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
#define WEIR_ATOMIC(name)                                                                 \
  template <class weir_T, class weir_V>                                                   \
  static inline __device__ auto name##_block(weir_T* p, weir_V v)->decltype(name(p, v)) { \
    return name(p, v);                                                                    \
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
static inline __device__ auto atomicCAS_block(weir_T* p, weir_C c, weir_V v) -> decltype(atomicCAS(p, c, v)) {
  return atomicCAS(p, c, v);
}
#define WEIR_WARP static inline __device__ __attribute__((always_inline, unused))
template <class weir_M>
WEIR_WARP void weir_check_mask() {
#if defined(__GFX8__) || defined(__GFX9__)
  static_assert(sizeof(weir_M) == 8,
                "the mask must have 64 bits, since warps of this device have 64 lanes: write ~0ull for all of them");
#endif
}
#define WEIR_SHUFFLE(name)                                                        \
  template <class weir_M, class weir_T>                                           \
  WEIR_WARP weir_T name##_sync(weir_M, weir_T v, int weir_lane) {                 \
    weir_check_mask<weir_M>();                                                    \
    return name(v, weir_lane);                                                    \
  }                                                                               \
  template <class weir_M, class weir_T>                                           \
  WEIR_WARP weir_T name##_sync(weir_M, weir_T v, int weir_lane, int weir_width) { \
    weir_check_mask<weir_M>();                                                    \
    return name(v, weir_lane, weir_width);                                        \
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
WEIR_WARP unsigned long long __ballot_sync(weir_M mask, int p) {
  weir_check_mask<weir_M>();
  return (weir_lanes)(__ballot(p) & mask);
}
template <class weir_M> WEIR_WARP int __any_sync(weir_M mask, int p) { return __ballot_sync(mask, p) != 0; }
template <class weir_M> WEIR_WARP int __all_sync(weir_M mask, int p) { return __ballot_sync(mask, !p) == 0; }
WEIR_WARP unsigned long long __activemask() { return (weir_lanes)__ballot(1); }
WEIR_WARP void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
template <class weir_M> WEIR_WARP void __syncwarp(weir_M) { weir_check_mask<weir_M>(); __syncwarp(); }
template <class weir_M, class weir_T> WEIR_WARP unsigned long long __match_any_sync(weir_M mask, weir_T v) {
  weir_check_mask<weir_M>();
  unsigned long long weir_mine = 0;
  for (unsigned long long weir_left = (weir_lanes)(__ballot(1) & mask); weir_left != 0; weir_left &= weir_left - 1) {
    const int weir_lane = __ffsll(weir_left) - 1;
    if (__shfl(v, weir_lane) == v) weir_mine |= 1ull << weir_lane;
  }
  return weir_mine;
}
template <class weir_M, class weir_T> WEIR_WARP unsigned long long __match_all_sync(weir_M mask, weir_T v, int* same) {
  weir_check_mask<weir_M>();
  const unsigned long long here = (weir_lanes)(__ballot(1) & mask);
  *same = __all_sync(mask, __shfl(v, __ffsll(here) - 1) == v);
  return *same ? here : 0;
}
#define WEIR_REDUCE(name, expression)                                              \
  template <class weir_M, class weir_T>                                            \
  WEIR_WARP weir_T name(weir_M mask, weir_T v) {                                   \
    weir_check_mask<weir_M>();                                                     \
    unsigned long long weir_left = (weir_lanes)(__ballot(1) & mask);               \
    if (weir_left == (weir_lanes)~0ull) {                                          \
      weir_T x = v;                                                                \
      for (int k = (int)sizeof(weir_lanes) * 4; k > 0; k /= 2) {                   \
        const weir_T y = __shfl_xor(x, k);                                         \
        x = expression;                                                            \
      }                                                                            \
      return x;                                                                    \
    }                                                                              \
    weir_T x = __shfl(v, __ffsll(weir_left) - 1);                                  \
    for (weir_left &= weir_left - 1; weir_left != 0; weir_left &= weir_left - 1) { \
      const weir_T y = __shfl(v, __ffsll(weir_left) - 1);                          \
      x = expression;                                                              \
    }                                                                              \
    return x;                                                                      \
  }
WEIR_REDUCE(__reduce_add_sync, x + y)
WEIR_REDUCE(__reduce_min_sync, (y < x ? y : x))
WEIR_REDUCE(__reduce_max_sync, (x < y ? y : x))
WEIR_REDUCE(__reduce_and_sync, x & y)
WEIR_REDUCE(__reduce_or_sync, x | y)
WEIR_REDUCE(__reduce_xor_sync, x ^ y)
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
typedef unsigned long long lanes;
WEIR_CG_FREE unsigned lane() { return __lane_id(); }
WEIR_CG_FREE void sync_wave() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
WEIR_CG_FREE unsigned rank_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
WEIR_CG_FREE unsigned block_size() { return blockDim.x * blockDim.y * blockDim.z; }
// Some lanes of a wavefront: the common part of coalesced groups and tiles.
struct subset {
  lanes mask;
  WEIR_CG explicit subset(lanes m) : mask(m) {}
  WEIR_CG unsigned long long size() const { return __popcll(mask); }
  WEIR_CG unsigned long long num_threads() const { return size(); }
  WEIR_CG unsigned long long thread_rank() const { return __popcll(mask & ((1ull << lane()) - 1)); }
  WEIR_CG void sync() const { sync_wave(); }
  WEIR_CG unsigned lane_of(unsigned rank) const {
    lanes left = mask;
    while (rank-- > 0) left &= left - 1;
    return __ffsll(left) - 1;
  }
  template <class weir_T>
  WEIR_CG weir_T shfl(weir_T v, unsigned rank) const {
    return __shfl(v, (int)lane_of(rank % (unsigned)size()));
  }
  template <class weir_T> WEIR_CG weir_T shfl_up(weir_T v, unsigned delta) const {
    const unsigned rank = (unsigned)thread_rank();
    return __shfl(v, (int)lane_of(rank >= delta ? rank - delta : rank));
  }
  template <class weir_T> WEIR_CG weir_T shfl_down(weir_T v, unsigned delta) const {
    const unsigned rank = (unsigned)thread_rank();
    return __shfl(v, (int)lane_of(rank + delta < size() ? rank + delta : rank));
  }
  // Bit i of the result is for the thread with rank i.
  WEIR_CG lanes ballot(int p) const {
    lanes ranks = 0, yes = __ballot(p);
    unsigned r = 0;
    for (lanes left = mask; left != 0; left &= left - 1, ++r) ranks |= (yes >> (__ffsll(left) - 1) & 1ull) << r;
    return ranks;
  }
  WEIR_CG int any(int p) const { return (__ballot(p) & mask) != 0; }
  WEIR_CG int all(int p) const { return (__ballot(!p) & mask) == 0; }
};
}  // namespace weir

class thread_block {
 public:
  WEIR_CG static void sync() { __syncthreads(); }
  WEIR_CG static unsigned thread_rank() { return weir::rank_in_block(); }
  WEIR_CG static unsigned size() { return weir::block_size(); }
  WEIR_CG static unsigned num_threads() { return weir::block_size(); }
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
  WEIR_CG static unsigned long long thread_rank() { return block_rank() * weir::block_size() + weir::rank_in_block(); }
  WEIR_CG static unsigned long long size() { return num_blocks() * weir::block_size(); }
  WEIR_CG static unsigned long long num_threads() { return size(); }
  WEIR_CG static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  WEIR_CG static dim3 dim_blocks() { return group_dim(); }
};
WEIR_CG_FREE grid_group this_grid() { return grid_group(); }

template <unsigned weir_N, class Parent = void>
class thread_block_tile {
  static_assert(weir_N != 0 && (weir_N & (weir_N - 1)) == 0 && weir_N <= 64,
                "a tile has a power of two of threads, no more than a warp");
  unsigned meta_rank_, meta_size_;

 public:
  WEIR_CG thread_block_tile(unsigned rank, unsigned size) : meta_rank_(rank), meta_size_(size) {}
  template <class Other>
  WEIR_CG thread_block_tile(const thread_block_tile<weir_N, Other>& o)
      : meta_rank_(o.meta_group_rank()), meta_size_(o.meta_group_size()) {}
  WEIR_CG static unsigned thread_rank() { return weir::rank_in_block() % weir_N; }
  WEIR_CG static constexpr unsigned size() { return weir_N; }
  WEIR_CG static constexpr unsigned num_threads() { return weir_N; }
  WEIR_CG unsigned meta_group_rank() const { return meta_rank_; }
  WEIR_CG unsigned meta_group_size() const { return meta_size_; }
  WEIR_CG static void sync() { weir::sync_wave(); }
  template <class weir_T> WEIR_CG weir_T shfl(weir_T v, int rank) const { return __shfl(v, rank, (int)weir_N); }
  template <class weir_T> WEIR_CG weir_T shfl_up(weir_T v, unsigned delta) const { return __shfl_up(v, delta, (int)weir_N); }
  template <class weir_T>
  WEIR_CG weir_T shfl_down(weir_T v, unsigned delta) const {
    return __shfl_down(v, delta, (int)weir_N);
  }
  template <class weir_T> WEIR_CG weir_T shfl_xor(weir_T v, int mask) const { return __shfl_xor(v, mask, (int)weir_N); }
  WEIR_CG unsigned long long ballot(int p) const {
    const unsigned long long bits = __ballot(p) >> (weir::lane() / weir_N * weir_N);
    return weir_N == 64 ? bits : bits & ((1ull << (weir_N % 64)) - 1);
  }
  WEIR_CG int any(int p) const { return ballot(p) != 0; }
  WEIR_CG int all(int p) const { return ballot(!p) == 0; }
  template <class weir_T> WEIR_CG unsigned long long match_any(weir_T v) const {
    unsigned long long same = 0;
    for (unsigned r = 0; r < weir_N; ++r) same |= (unsigned long long)(shfl(v, (int)r) == v) << r;
    return same;
  }
};
template <unsigned weir_N, class Parent>
WEIR_CG thread_block_tile<weir_N, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<weir_N, Parent>((unsigned)parent.thread_rank() / weir_N,
                                           ((unsigned)parent.size() + weir_N - 1) / weir_N);
}

class coalesced_group : public weir::subset {
 public:
  WEIR_CG explicit coalesced_group(weir::lanes mask) : weir::subset(mask) {}
};
WEIR_CG_FREE coalesced_group coalesced_threads() { return coalesced_group(__ballot(1)); }

// A block, or a tile whose size is known only at run time.
class thread_group {
  unsigned size_;  // 0: the block
  unsigned first_;
  weir::lanes mask_;
  WEIR_CG weir::subset lanes() const { return weir::subset(mask_); }

 public:
  WEIR_CG thread_group(unsigned size, weir::lanes mask)
      : size_(size), first_(weir::rank_in_block() / (size == 0 ? 1 : size)), mask_(mask) {}
  WEIR_CG thread_group(const thread_block&) : thread_group(0, 0) {}
  WEIR_CG thread_group(const coalesced_group& g) : thread_group((unsigned)g.size(), g.mask) {}
  template <unsigned weir_N, class weir_P> WEIR_CG thread_group(const thread_block_tile<weir_N, weir_P>&)
      : thread_group(weir_N, (weir_N == 64 ? ~0ull : (1ull << (weir_N % 64)) - 1) << (weir::lane() / weir_N * weir_N)) {}
  WEIR_CG unsigned size() const { return size_ == 0 ? weir::block_size() : size_; }
  WEIR_CG unsigned num_threads() const { return size(); }
  WEIR_CG unsigned thread_rank() const { return size_ == 0 ? weir::rank_in_block() : (unsigned)lanes().thread_rank(); }
  WEIR_CG void sync() const { if (size_ == 0) __syncthreads(); else weir::sync_wave(); }
};
template <class Parent>
WEIR_CG thread_group tiled_partition(const Parent&, unsigned n) {
  return thread_group(n, (n >= 64 ? ~0ull : (1ull << n) - 1) << (weir::lane() / n * n));
}

template <class weir_G> WEIR_CG void sync(const weir_G& g) { g.sync(); }
template <class weir_T> struct plus { WEIR_CG weir_T operator()(weir_T a, weir_T b) const { return a + b; } };
template <class weir_T> struct less { WEIR_CG weir_T operator()(weir_T a, weir_T b) const { return b < a ? b : a; } };
template <class weir_T> struct greater { WEIR_CG weir_T operator()(weir_T a, weir_T b) const { return a < b ? b : a; } };
template <class weir_T> struct bit_and { WEIR_CG weir_T operator()(weir_T a, weir_T b) const { return a & b; } };
template <class weir_T> struct bit_or { WEIR_CG weir_T operator()(weir_T a, weir_T b) const { return a | b; } };
template <class weir_T> struct bit_xor { WEIR_CG weir_T operator()(weir_T a, weir_T b) const { return a ^ b; } };
template <unsigned weir_N, class weir_P, class weir_T, class Op>
WEIR_CG weir_T reduce(const thread_block_tile<weir_N, weir_P>& g, weir_T v, Op op) {
  for (int k = (int)weir_N / 2; k > 0; k /= 2) v = op(v, g.shfl_xor(v, k));
  return v;
}
// Returns the threads of the group that pass the same label as the calling thread.
template <class weir_T>
WEIR_CG coalesced_group labeled_partition(const coalesced_group& g, weir_T label) {
  weir::lanes same = 0;
  for (weir::lanes left = g.mask; left != 0; left &= left - 1) {
    const int lane = __ffsll(left) - 1;
    if (__shfl(label, lane) == label) same |= 1ull << lane;
  }
  return coalesced_group(same);
}
template <unsigned weir_N, class weir_P, class weir_T>
WEIR_CG coalesced_group labeled_partition(const thread_block_tile<weir_N, weir_P>&, weir_T label) {
  const weir::lanes tile = (weir_N == 64 ? ~0ull : (1ull << (weir_N % 64)) - 1) << (weir::lane() / weir_N * weir_N);
  return labeled_partition(coalesced_group(__ballot(1) & tile), label);
}
template <class weir_G>
WEIR_CG coalesced_group binary_partition(const weir_G& g, bool p) { return labeled_partition(g, (int)p); }
template <class weir_T, class Op>
WEIR_CG weir_T reduce(const coalesced_group& g, weir_T v, Op op) {
  weir_T sum = g.shfl(v, 0);
  for (unsigned r = 1; r < g.size(); ++r) sum = op(sum, g.shfl(v, r));
  return sum;
}
// Returns the result over the threads of the group up to the calling thread.
template <unsigned weir_N, class weir_P, class weir_T, class Op>
WEIR_CG weir_T inclusive_scan(const thread_block_tile<weir_N, weir_P>& g, weir_T v, Op op) {
  for (unsigned k = 1; k < weir_N; k *= 2) {
    const weir_T before = g.shfl_up(v, k);
    if (g.thread_rank() >= k) v = op(before, v);
  }
  return v;
}
template <class weir_T, class Op>
WEIR_CG weir_T inclusive_scan(const coalesced_group& g, weir_T v, Op op) {
  weir_T sum = g.shfl(v, 0), own = sum;
  for (unsigned r = 1; r < g.size(); ++r) {
    sum = op(sum, g.shfl(v, r));
    if (r == g.thread_rank()) own = sum;
  }
  return own;
}
template <class weir_G, class weir_T> WEIR_CG weir_T inclusive_scan(const weir_G& g, weir_T v) {
  return inclusive_scan(g, v, plus<weir_T>());
}
// Leaves out the calling thread's own value. The first thread gets zero.
template <class weir_G, class weir_T, class Op> WEIR_CG weir_T exclusive_scan(const weir_G& g, weir_T v, Op op) {
  const weir_T before = g.shfl_up(inclusive_scan(g, v, op), 1);
  return g.thread_rank() == 0 ? weir_T() : before;
}
template <class weir_G, class weir_T> WEIR_CG weir_T exclusive_scan(const weir_G& g, weir_T v) {
  return exclusive_scan(g, v, plus<weir_T>());
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
