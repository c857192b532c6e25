// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The barriers and warp functions that CUDA C++ and HIP C++ share, implemented with the entries
/// (kernels/device_entries.hpp). The text is compiled as C++14, 17 or 20.
namespace weir::kernels {

/// `WEIR_SET_PLACE(name, file, line, number)` sets the source location for reports about the next call of an entry.
inline constexpr std::string_view device_threads = R"weir(
#define WEIR_HERE const char* weir_file = __builtin_FILE(), unsigned int weir_line = __builtin_LINE()
#define WEIR_AT(name) WEIR_SET_PLACE(name, weir_file, weir_line, 0)

namespace weir_host {

// Converts the mask that the program passes. A mask of 0 is a mistake: it is replaced by the bit of another lane, so that
// the call reports that the mask does not contain the calling lane.
template <class M>
WEIR_ALWAYS_INLINE lane_bits named_lanes(M mask) {
  static_assert(sizeof(M) * 8 >= (size_t)warpSize,
                "the mask must have 64 bits, since warps of this device have 64 lanes: write ~0ull for all of them");
  const lane_bits named = (lane_bits)mask;
  return named != 0 ? named : (lane_bits)1 << (__weir_lane() ^ 1);
}
WEIR_ALWAYS_INLINE unsigned int linear_thread() {
  return (__weir_tid(2) * __weir_ntid(1) + __weir_tid(1)) * __weir_ntid(0) + __weir_tid(0);
}

}  // namespace weir_host

WEIR_ALWAYS_INLINE unsigned int __isShared(const void* p) { return __weir_is_shared(p); }
WEIR_ALWAYS_INLINE unsigned int __isLocal(const void* p) { return __weir_is_local(p); }
WEIR_ALWAYS_INLINE unsigned int __isGlobal(const void* p) { return !__weir_is_shared(p) && !__weir_is_local(p); }
WEIR_ALWAYS_INLINE size_t __cvta_generic_to_shared(const void* p) { return (size_t)p - (size_t)__weir_shared(); }
WEIR_ALWAYS_INLINE void* __cvta_shared_to_generic(size_t x) { return __weir_shared() + x; }
WEIR_ALWAYS_INLINE size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
WEIR_ALWAYS_INLINE void* __cvta_global_to_generic(size_t x) { return (void*)x; }

WEIR_ALWAYS_INLINE void __syncthreads(WEIR_HERE) {
  WEIR_AT("__syncthreads");
  __weir_barrier();
}
WEIR_ALWAYS_INLINE int __syncthreads_count(int predicate, WEIR_HERE) {
  WEIR_AT("__syncthreads_count");
  return __weir_barrier_count(predicate);
}
WEIR_ALWAYS_INLINE int __syncthreads_and(int predicate, WEIR_HERE) {
  WEIR_AT("__syncthreads_and");
  return __weir_barrier_count(predicate == 0) == 0;
}
WEIR_ALWAYS_INLINE int __syncthreads_or(int predicate, WEIR_HERE) {
  WEIR_AT("__syncthreads_or");
  return __weir_barrier_count(predicate) != 0;
}

template <class weir_M = weir_host::lane_bits>
WEIR_ALWAYS_INLINE void __syncwarp(weir_M mask = weir_host::all_lanes, WEIR_HERE) {
  WEIR_AT("__syncwarp");
  __weir_warp_barrier(weir_host::named_lanes(mask));
}
// Each call gets a number, because a line may contain several calls.
#define __activemask() weir_activemask(__COUNTER__)
WEIR_ALWAYS_INLINE weir_host::lane_bits weir_activemask(size_t number, WEIR_HERE) {
  WEIR_SET_PLACE("__activemask", weir_file, weir_line, number);
  return (weir_host::lane_bits)__weir_active();
}

// Each function has two forms: with a mask, and, as in HIP, without one, for the lanes that make the call together.
#define WEIR_SHUFFLE_LANE(name, expression)                                                                             \
  namespace weir_host {                                                                                                 \
  template <class T>                                                                                                    \
  WEIR_ALWAYS_INLINE T name##_of(lane_bits mask, const T& v, int by, int width) {                                       \
    const int lane = __weir_lane();                                                                                     \
    return shuffle<T>(mask, v, expression);                                                                             \
  }                                                                                                                     \
  }
WEIR_SHUFFLE_LANE(__shfl, (lane & ~(width - 1)) + (by & (width - 1)))
WEIR_SHUFFLE_LANE(__shfl_up, (lane & (width - 1)) >= by ? lane - by : lane)
WEIR_SHUFFLE_LANE(__shfl_down, (lane & (width - 1)) + by < width ? lane + by : lane)
WEIR_SHUFFLE_LANE(__shfl_xor, (lane ^ by) <= (lane | (width - 1)) ? lane ^ by : lane)
#undef WEIR_SHUFFLE_LANE
#ifdef __NVCC__
// In whole programs they have CUDA's types only, since a program may add its own functions for others. Those take lanes of
// type int or unsigned int; the conversion to long long ranks these behind them. A program's macros come before the second
// use, in the headers of half precision.
#define WEIR_SHUFFLE(function, name, T)                                                                                 \
  template <class weir_M>                                                                                               \
  function T name##_sync(weir_M __mask, T __v, long long __by, int __width = warpSize, WEIR_HERE) {                     \
    WEIR_AT(#name "_sync");                                                                                             \
    return weir_host::name##_of(weir_host::named_lanes(__mask), __v, (int)__by, __width);                               \
  }                                                                                                                     \
  function T name(T __v, long long __by, int __width = warpSize, WEIR_HERE) {                                           \
    WEIR_AT(#name);                                                                                                     \
    return weir_host::name##_of(0, __v, (int)__by, __width);                                                            \
  }
#define WEIR_SHUFFLES(function, T)                                                                                      \
  WEIR_SHUFFLE(function, __shfl, T) WEIR_SHUFFLE(function, __shfl_up, T)                                                \
  WEIR_SHUFFLE(function, __shfl_down, T) WEIR_SHUFFLE(function, __shfl_xor, T)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, int)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, unsigned int)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, long)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, unsigned long)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, long long)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, unsigned long long)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, float)
WEIR_SHUFFLES(WEIR_ALWAYS_INLINE, double)
#else
#define WEIR_SHUFFLE(name)                                                                                              \
  template <class weir_M, class weir_T>                                                                                 \
  WEIR_ALWAYS_INLINE weir_T name##_sync(weir_M mask, weir_T v, int by, int width = warpSize, WEIR_HERE) {               \
    WEIR_AT(#name "_sync");                                                                                             \
    return weir_host::name##_of(weir_host::named_lanes(mask), v, by, width);                                            \
  }                                                                                                                     \
  template <class weir_T>                                                                                               \
  WEIR_ALWAYS_INLINE weir_T name(weir_T v, int by, int width = warpSize, WEIR_HERE) {                                   \
    WEIR_AT(#name);                                                                                                     \
    return weir_host::name##_of(0, v, by, width);                                                                       \
  }
WEIR_SHUFFLE(__shfl)
WEIR_SHUFFLE(__shfl_up)
WEIR_SHUFFLE(__shfl_down)
WEIR_SHUFFLE(__shfl_xor)
#undef WEIR_SHUFFLE
#endif

#define WEIR_VOTE(name, type, expression)                                                                               \
  template <class weir_M>                                                                                               \
  WEIR_ALWAYS_INLINE type name##_sync(weir_M weir_mask, int predicate, WEIR_HERE) {                                     \
    WEIR_AT(#name "_sync");                                                                                             \
    const weir_host::lane_bits mask = weir_host::named_lanes(weir_mask);                                                \
    return (type)(expression);                                                                                          \
  }                                                                                                                     \
  WEIR_ALWAYS_INLINE type name(int predicate, WEIR_HERE) {                                                              \
    WEIR_AT(#name);                                                                                                     \
    constexpr weir_host::lane_bits mask = 0;                                                                            \
    return (type)(expression);                                                                                          \
  }
WEIR_VOTE(__ballot, weir_host::lane_bits, __weir_ballot(mask, predicate))
WEIR_VOTE(__any, int, __weir_ballot(mask, predicate) != 0)
WEIR_VOTE(__all, int, __weir_ballot(mask, predicate == 0) == 0)
#undef WEIR_VOTE

template <class weir_M, class weir_T>
WEIR_ALWAYS_INLINE weir_host::lane_bits __match_any_sync(weir_M mask, weir_T v, WEIR_HERE) {
  WEIR_AT("__match_any_sync");
  return weir_host::match_any(weir_host::named_lanes(mask), v);
}
template <class weir_M, class weir_T>
WEIR_ALWAYS_INLINE weir_host::lane_bits __match_all_sync(weir_M mask, weir_T v, int* same, WEIR_HERE) {
  WEIR_AT("__match_all_sync");
  const weir_host::lane_bits lanes = weir_host::match_all(weir_host::named_lanes(mask), v);
  *same = lanes != 0;
  return lanes;
}

#define WEIR_REDUCE(name, expression)                                                                                   \
  namespace weir_host {                                                                                                 \
  struct name##_op {                                                                                                    \
    template <class T>                                                                                                  \
    WEIR_ALWAYS_INLINE T operator()(T x, T y) const {                                                                   \
      return (T)(expression);                                                                                           \
    }                                                                                                                   \
  };                                                                                                                    \
  }                                                                                                                     \
  template <class weir_M, class weir_T>                                                                                 \
  WEIR_ALWAYS_INLINE weir_T name(weir_M mask, weir_T v, WEIR_HERE) {                                                    \
    WEIR_AT(#name);                                                                                                     \
    return weir_host::reduce(weir_host::named_lanes(mask), warpSize, v, weir_host::name##_op());                        \
  }
WEIR_REDUCE(__reduce_add_sync, x + y)
WEIR_REDUCE(__reduce_min_sync, y < x ? y : x)
WEIR_REDUCE(__reduce_max_sync, x < y ? y : x)
WEIR_REDUCE(__reduce_and_sync, x & y)
WEIR_REDUCE(__reduce_or_sync, x | y)
WEIR_REDUCE(__reduce_xor_sync, x ^ y)
#undef WEIR_REDUCE
)weir";

}  // namespace weir::kernels
