// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cub_items.hpp"

/// The text of `<cub/cub.cuh>` and of its headers for the block and warp primitives, for all backends: BlockReduce,
/// BlockScan, WarpReduce, WarpScan, BlockLoad and BlockStore with CUB's names, parameters and results, written in the
/// dialect. CUB's algorithms differ only in speed, so here each class has one. Where CUB's result is undefined, such as the
/// sum in other threads than the first, so is this one.
///
/// `TempStorage` consists of bytes, so that it can be `__shared__`, or in a union, whatever the type is. All names are
/// reserved or CUB's, so that no macro of the program changes this text.
namespace weir::kernels {

inline constexpr const char* cub_header = R"weir(#ifndef WEIR_CUB_HEADER
#define WEIR_CUB_HEADER
#define WEIR_CUB __device__ __forceinline__
namespace cub {
#if defined(WEIR_WARP_SIZE)
constexpr int weir_warp = WEIR_WARP_SIZE;
#elif defined(__GFX8__) || defined(__GFX9__)
constexpr int weir_warp = 64;
#else
constexpr int weir_warp = 32;
#endif

#define WEIR_CUB_OPERATOR(name, expression)                                                           \
  struct name {                                                                                       \
    template <class weir_T>                                                                           \
    WEIR_CUB weir_T operator()(const weir_T& __a, const weir_T& __b) const { return weir_T(expression); } \
  };
WEIR_CUB_OPERATOR(Sum, __a + __b)
WEIR_CUB_OPERATOR(Max, __b > __a ? __b : __a)
WEIR_CUB_OPERATOR(Min, __b < __a ? __b : __a)
// Of equal values, the one with the lesser key.
WEIR_CUB_OPERATOR(ArgMax, __b.value > __a.value || (__a.value == __b.value && __b.key < __a.key) ? __b : __a)
WEIR_CUB_OPERATOR(ArgMin, __b.value < __a.value || (__a.value == __b.value && __b.key < __a.key) ? __b : __a)
#undef WEIR_CUB_OPERATOR
template <class weir_K, class weir_V>
struct KeyValuePair {
  typedef weir_K Key;
  typedef weir_V Value;
  Key key;
  Value value;
  KeyValuePair() = default;
  WEIR_CUB KeyValuePair(const Key& __k, const Value& __v) : key(__k), value(__v) {}
};

// Shuffles of any trivially copyable type, word by word. The CPU's functions do that themselves.
#ifdef WEIR_WARP_SIZE
#define WEIR_CUB_WORDS(name) return __##name##_sync(__mask, __v, __by);
#else
#define WEIR_CUB_WORDS(name)                                                              \
  unsigned int __words[(sizeof(weir_T) + 3) / 4] = {};                                    \
  weir_T __result = __v;                                                                  \
  memcpy(__words, &__v, sizeof(weir_T));                                                  \
  for (unsigned int& __word : __words) __word = __##name##_sync(__mask, __word, __by);    \
  memcpy(&__result, __words, sizeof(weir_T));                                             \
  return __result;
#endif
#define WEIR_CUB_SHUFFLE(name)                                                            \
  template <class weir_T>                                                                 \
  WEIR_CUB weir_T weir_##name(unsigned long long __mask, const weir_T& __v, int __by) {   \
    WEIR_CUB_WORDS(name)                                                                  \
  }
WEIR_CUB_SHUFFLE(shfl) WEIR_CUB_SHUFFLE(shfl_up) WEIR_CUB_SHUFFLE(shfl_down)
#undef WEIR_CUB_SHUFFLE
#undef WEIR_CUB_WORDS

// The threads of a logical warp: weir_n adjacent lanes. It has what reductions and scans need, and needs no memory.
template <class weir_T, int weir_n>
struct weir_lanes {
  static_assert(weir_n > 0 && weir_n <= weir_warp, "a logical warp has from one thread to as many as a warp");
  static constexpr int weir_threads = weir_n;
  struct TempStorage {};
  int weir_at, weir_lane;  // this lane's number in the warp, and in the logical warp
  unsigned long long weir_mask;
  WEIR_CUB weir_lanes()
      : weir_at((int)(((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) % weir_warp)),
        weir_lane(weir_at % weir_n),
        weir_mask(~0ull >> (64 - weir_n) << (weir_at - weir_lane)) {}
  WEIR_CUB explicit weir_lanes(TempStorage&) : weir_lanes() {}
  WEIR_CUB weir_T weir_from(const weir_T& __v, int __lane) const {
    return weir_shfl(weir_mask, __v, weir_at - weir_lane + __lane);
  }
  // Combines the values of this lane up to lane __valid - 1, in their order.
  template <class weir_Op>
  WEIR_CUB weir_T weir_reduce(weir_T __v, int __valid, weir_Op& __op) const {
    for (int __step = 1; __step < weir_n; __step *= 2) {
      const weir_T __other = weir_shfl_down(weir_mask, __v, __step);
      if (weir_lane + __step < __valid) __v = (weir_T)__op(__v, __other);
    }
    return __v;
  }
  // Combines the values of the first lane up to this one.
  template <class weir_Op>
  WEIR_CUB weir_T weir_sums(weir_T __v, weir_Op& __op) const {
    for (int __step = 1; __step < weir_n; __step *= 2) {
      const weir_T __other = weir_shfl_up(weir_mask, __v, __step);
      if (weir_lane >= __step) __v = (weir_T)__op(__other, __v);
    }
    return __v;
  }
  template <class weir_S, class weir_Op, class weir_P>
  WEIR_CUB void weir_scan(weir_S __items, weir_Op& __op, weir_T* __all, const weir_P& __prefix) const {
    const weir_T __sums = weir_sums(__items.weir_combined(__op), __op);
    if (__all != nullptr) *__all = weir_from(__sums, weir_n - 1);
    __items.weir_write(weir_lane != 0, weir_shfl_up(weir_mask, __sums, 1), __op, __prefix.weir_get(*this, __sums));
  }
};

// The threads of a block. Its memory has a value of each warp, and one of the block.
template <class weir_T, int weir_x, int weir_y, int weir_z>
struct weir_block {
  static constexpr int weir_threads = weir_x * weir_y * weir_z, weir_warps = (weir_threads + weir_warp - 1) / weir_warp;
  using weir_of_warp = weir_lanes<weir_T, (weir_threads < weir_warp ? weir_threads : weir_warp)>;
  struct TempStorage {
    alignas(weir_T) unsigned char weir_bytes[sizeof(weir_T) * (weir_warps + 1)];
  };
  TempStorage& weir_memory;
  int weir_thread;
  WEIR_CUB explicit weir_block(TempStorage& __memory)
      : weir_memory(__memory), weir_thread((int)((threadIdx.z * weir_y + threadIdx.y) * weir_x + threadIdx.x)) {
#ifdef __WEIR_HOST__
    // This thread's value would be beyond the memory. The first condition is the same for all threads, and thus fast.
    if (((blockDim.z - 1) * weir_y + blockDim.y - 1) * weir_x + blockDim.x > weir_threads && weir_thread >= weir_threads)
      ::weir_host::__assert_fail("cub::BlockReduce or cub::BlockScan has this thread", __FILE__, __LINE__, "");
#endif
  }
  WEIR_CUB weir_block() : weir_block(weir_private()) {}
  WEIR_CUB static TempStorage& weir_private() {
    __shared__ TempStorage weir_own_memory;
    return weir_own_memory;
  }
  WEIR_CUB weir_T& weir_value(int __i) const { return reinterpret_cast<weir_T*>(weir_memory.weir_bytes)[__i]; }
  template <class weir_Op>
  WEIR_CUB weir_T weir_reduce(weir_T __v, int __valid, weir_Op& __op) const {
    const int __warp = weir_thread / weir_warp, __left = __valid - __warp * weir_warp;
    const weir_of_warp __own;
    __v = __own.weir_reduce(__v, __left < weir_warp ? __left : weir_warp, __op);
    if (__own.weir_lane == 0) weir_value(__warp) = __v;
    __syncthreads();
    if (weir_thread == 0) {
      for (int __i = 1; __i < weir_warps && __i * weir_warp < __valid; ++__i) __v = (weir_T)__op(__v, weir_value(__i));
    }
    return __v;
  }
  template <class weir_S, class weir_Op, class weir_P>
  WEIR_CUB void weir_scan(weir_S __items, weir_Op& __op, weir_T* __all, const weir_P& __prefix) const {
    const int __warp = weir_thread / weir_warp;
    const weir_of_warp __own;
    const weir_T __sums = __own.weir_sums(__items.weir_combined(__op), __op);
    weir_T __before = weir_shfl_up(__own.weir_mask, __sums, 1);  // all that comes before this thread's items
    if (__own.weir_lane == weir_warp - 1 || weir_thread == weir_threads - 1) weir_value(__warp) = __sums;
    __syncthreads();
    weir_T __sum = weir_value(0), __warps = __sum;  // all, and what comes before this warp
    for (int __i = 1; __i < weir_warps; ++__i) {
      if (__i == __warp) __warps = __sum;
      __sum = (weir_T)__op(__sum, weir_value(__i));
    }
    if (__warp != 0) __before = __own.weir_lane != 0 ? (weir_T)__op(__warps, __before) : __warps;
    if (__all != nullptr) *__all = __sum;
    __items.weir_write(weir_thread != 0, __before, __op, __prefix.weir_get(*this, __sum));
  }
};

// What comes before the first item: nothing, a value, or what a function returns in thread 0. The first warp calls it.
template <class weir_T>
struct weir_prefix {
  bool weir_is;
  weir_T weir_v;
  template <class weir_E>
  WEIR_CUB weir_prefix weir_get(const weir_E&, const weir_T& __all) const { return {weir_is, weir_is ? weir_v : __all}; }
};
template <class weir_T, class weir_F>
struct weir_callback {
  weir_F& weir_function;
  template <class weir_E>
  WEIR_CUB weir_prefix<weir_T> weir_get(const weir_E& __block, const weir_T& __all) const {
    if (__block.weir_thread < weir_warp) {
      const weir_T __returned = (weir_T)weir_function(__all);
      if (__block.weir_thread == 0) __block.weir_value(weir_E::weir_warps) = __returned;
    }
    __syncthreads();
    return {true, __block.weir_value(weir_E::weir_warps)};
  }
};

// The items of one thread.
template <class weir_T, int weir_count, bool weir_inclusive>
struct weir_items {
  const weir_T (&weir_in)[weir_count];
  weir_T (&weir_out)[weir_count];
  template <class weir_Op>
  WEIR_CUB weir_T weir_combined(weir_Op& __op) const {
    weir_T __v = weir_in[0];
    for (int __i = 1; __i < weir_count; ++__i) __v = (weir_T)__op(__v, weir_in[__i]);
    return __v;
  }
  template <class weir_Op>
  WEIR_CUB void weir_write(bool __started, weir_T __before, weir_Op& __op, const weir_prefix<weir_T>& __prefix) const {
    if (__prefix.weir_is) __before = __started ? (weir_T)__op(__prefix.weir_v, __before) : __prefix.weir_v;
    __started = __started || __prefix.weir_is;
    for (int __i = 0; __i < weir_count; ++__i, __started = true) {
      const weir_T __next = __started ? (weir_T)__op(__before, weir_in[__i]) : weir_in[__i];
      weir_out[__i] = weir_inclusive ? __next : __before;
      __before = __next;
    }
  }
};

// The public functions, for the threads of weir_E.
template <class weir_E, class weir_T>
struct weir_reductions : weir_E {
  template <class... weir_M>
  WEIR_CUB explicit weir_reductions(weir_M&... __memory) : weir_E(__memory...) {}
  template <class weir_Op>
  WEIR_CUB weir_T Reduce(weir_T __v, weir_Op __op, int __valid = weir_E::weir_threads) {
    const int __all = weir_E::weir_threads;
    return this->weir_reduce(__v, __valid < __all ? __valid : __all, __op);
  }
  template <int weir_count, class weir_Op>
  WEIR_CUB weir_T Reduce(weir_T (&__v)[weir_count], weir_Op __op) {
    return Reduce(weir_items<weir_T, weir_count, true>{__v, __v}.weir_combined(__op), __op);
  }
  WEIR_CUB weir_T Sum(weir_T __v, int __valid = weir_E::weir_threads) { return Reduce(__v, cub::Sum(), __valid); }
  template <int weir_count>
  WEIR_CUB weir_T Sum(weir_T (&__v)[weir_count]) { return Reduce(__v, cub::Sum()); }
};
template <class weir_E, class weir_T>
class weir_scans : public weir_E {
  using weir_P = weir_prefix<weir_T>;
#define WEIR_CUB_RUN(all, prefix, ...)                              \
  template <class weir_S, class weir_Op>                            \
  WEIR_CUB void weir_run(weir_S __s, __VA_ARGS__) { this->weir_scan(__s, __op, all, prefix); }
  WEIR_CUB_RUN(nullptr, (weir_P{false, __s.weir_in[0]}), weir_Op __op)
  WEIR_CUB_RUN(&__all, (weir_P{false, __s.weir_in[0]}), weir_Op __op, weir_T& __all)
  WEIR_CUB_RUN(nullptr, (weir_P{true, __first}), weir_T __first, weir_Op __op)
  WEIR_CUB_RUN(&__all, (weir_P{true, __first}), weir_T __first, weir_Op __op, weir_T& __all)
#undef WEIR_CUB_RUN
  // Not for an initial value of another type and a named operator.
  template <class weir_S, class weir_Op, class weir_F>
  WEIR_CUB auto weir_run(weir_S __s, weir_Op __op, weir_F& __f) -> decltype((void)__f(__s.weir_in[0])) {
    this->weir_scan(__s, __op, nullptr, weir_callback<weir_T, weir_F>{__f});
  }
  template <class weir_S, class weir_Op, class weir_F>
  WEIR_CUB void weir_run(weir_S __s, weir_T, weir_Op __op, weir_F& __f) { weir_run(__s, __op, __f); }

 public:
  template <class... weir_M>
  WEIR_CUB explicit weir_scans(weir_M&... __memory) : weir_E(__memory...) {}
#define WEIR_CUB_SCAN(name, inclusive, ...)                                                                     \
  template <class... weir_R>                                                                                    \
  WEIR_CUB void name(weir_T __in, weir_T& __out, weir_R&&... __rest) {                                          \
    const weir_T __one[1] = {__in};                                                                             \
    weir_run(weir_items<weir_T, 1, inclusive>{__one, reinterpret_cast<weir_T(&)[1]>(__out)}, __VA_ARGS__);      \
  }                                                                                                             \
  template <int weir_count, class... weir_R>                                                                    \
  WEIR_CUB void name(weir_T (&__in)[weir_count], weir_T (&__out)[weir_count], weir_R&&... __rest) {             \
    weir_run(weir_items<weir_T, weir_count, inclusive>{__in, __out}, __VA_ARGS__);                              \
  }
  WEIR_CUB_SCAN(InclusiveScan, true, static_cast<weir_R&&>(__rest)...)
  WEIR_CUB_SCAN(ExclusiveScan, false, static_cast<weir_R&&>(__rest)...)
  WEIR_CUB_SCAN(InclusiveSum, true, cub::Sum(), static_cast<weir_R&&>(__rest)...)
  WEIR_CUB_SCAN(ExclusiveSum, false, weir_T(), cub::Sum(), static_cast<weir_R&&>(__rest)...)
#undef WEIR_CUB_SCAN
};

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS,
  BLOCK_REDUCE_WARP_REDUCTIONS_NONDETERMINISTIC
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
template <class weir_T, int weir_x, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int weir_y = 1, int weir_z = 1,
          int = 0>
struct BlockReduce : weir_reductions<weir_block<weir_T, weir_x, weir_y, weir_z>, weir_T> {
  using TempStorage = typename weir_block<weir_T, weir_x, weir_y, weir_z>::TempStorage;
  WEIR_CUB BlockReduce() {}
  WEIR_CUB explicit BlockReduce(TempStorage& __m)
      : weir_reductions<weir_block<weir_T, weir_x, weir_y, weir_z>, weir_T>(__m) {}
};
template <class weir_T, int weir_x, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int weir_y = 1, int weir_z = 1, int = 0>
struct BlockScan : weir_scans<weir_block<weir_T, weir_x, weir_y, weir_z>, weir_T> {
  using TempStorage = typename weir_block<weir_T, weir_x, weir_y, weir_z>::TempStorage;
  WEIR_CUB BlockScan() {}
  WEIR_CUB explicit BlockScan(TempStorage& __m) : weir_scans<weir_block<weir_T, weir_x, weir_y, weir_z>, weir_T>(__m) {}
};
template <class weir_T, int weir_n = weir_warp, int = 0>
struct WarpReduce : weir_reductions<weir_lanes<weir_T, weir_n>, weir_T> {
  using TempStorage = typename weir_lanes<weir_T, weir_n>::TempStorage;
  WEIR_CUB explicit WarpReduce(TempStorage&) {}
  // A segment begins at each lane with a flag, or ends there.
  template <class weir_F, class weir_Op>
  WEIR_CUB weir_T HeadSegmentedReduce(weir_T __v, weir_F __head, weir_Op __op) {
    return weir_segment(__v, weir_flags(__head) >> 1, __op);
  }
  template <class weir_F, class weir_Op>
  WEIR_CUB weir_T TailSegmentedReduce(weir_T __v, weir_F __tail, weir_Op __op) {
    return weir_segment(__v, weir_flags(__tail), __op);
  }
  template <class weir_F>
  WEIR_CUB weir_T HeadSegmentedSum(weir_T __v, weir_F __head) { return HeadSegmentedReduce(__v, __head, cub::Sum()); }
  template <class weir_F>
  WEIR_CUB weir_T TailSegmentedSum(weir_T __v, weir_F __tail) { return TailSegmentedReduce(__v, __tail, cub::Sum()); }

 private:
  // Bit i: whether the lane i lanes after this one passes true.
  WEIR_CUB unsigned long long weir_flags(bool __flag) const {
    return (__ballot_sync(this->weir_mask, __flag) & this->weir_mask) >> this->weir_at;
  }
  template <class weir_Op>
  WEIR_CUB weir_T weir_segment(weir_T __v, unsigned long long __ends, weir_Op& __op) const {
    return this->weir_reduce(__v, __ends != 0 ? this->weir_lane + __ffsll((long long)__ends) : weir_n, __op);
  }
};
template <class weir_T, int weir_n = weir_warp, int = 0>
struct WarpScan : weir_scans<weir_lanes<weir_T, weir_n>, weir_T> {
  using TempStorage = typename weir_lanes<weir_T, weir_n>::TempStorage;
  WEIR_CUB explicit WarpScan(TempStorage&) {}
  WEIR_CUB weir_T Broadcast(weir_T __v, unsigned int __lane) { return this->weir_from(__v, (int)__lane); }
  // The first lane's exclusive result is the initial value, if there is one.
  template <class... weir_R>
  WEIR_CUB void Scan(weir_T __in, weir_T& __inclusive, weir_T& __exclusive, weir_R... __rest) {
    this->InclusiveScan(__in, __inclusive, static_cast<weir_R&&>(__rest)...);
    this->ExclusiveScan(__in, __exclusive, static_cast<weir_R&&>(__rest)...);
  }
};
}  // namespace cub
#undef WEIR_CUB
#endif
)weir";

/// The headers' names, and what they contain. If the source has included a header of CUDA's own CUB before, they are CUDA's.
#define WEIR_CUB_FILE(name, own) {name, "#ifdef CUB_VERSION\n#include <./" name ">\n#else\n" own "#endif\n"}
#define WEIR_CUB_SUMS "#include <weir_cub.h>\n"
#define WEIR_CUB_ITEMS "#include <weir_cub_items.h>\n"
struct CubFile {
  const char *name, *text;
};
inline constexpr CubFile cub_files[] = {
    {"weir_cub.h", cub_header},
    {"weir_cub_items.h", cub_items_header},
    WEIR_CUB_FILE("cub/cub.cuh", WEIR_CUB_SUMS WEIR_CUB_ITEMS),
    WEIR_CUB_FILE("cub/block/block_load.cuh", WEIR_CUB_ITEMS),
    WEIR_CUB_FILE("cub/block/block_reduce.cuh", WEIR_CUB_SUMS),
    WEIR_CUB_FILE("cub/block/block_scan.cuh", WEIR_CUB_SUMS),
    WEIR_CUB_FILE("cub/block/block_store.cuh", WEIR_CUB_ITEMS),
    WEIR_CUB_FILE("cub/util_type.cuh", WEIR_CUB_SUMS),
    WEIR_CUB_FILE("cub/warp/warp_reduce.cuh", WEIR_CUB_SUMS),
    WEIR_CUB_FILE("cub/warp/warp_scan.cuh", WEIR_CUB_SUMS),
};
#undef WEIR_CUB_FILE
#undef WEIR_CUB_SUMS
#undef WEIR_CUB_ITEMS

}  // namespace weir::kernels
