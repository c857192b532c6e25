// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The text of `<cooperative_groups.h>`, which also serves as `<hip/hip_cooperative_groups.h>`, for kernels on the CPU, for
/// those that Clang compiles for a GPU, and for HIPRTC. It has the part that CUDA and HIP share.
namespace weir::kernels {

inline constexpr char groups_text[] = R"weir(
#ifndef WEIR_COOPERATIVE_GROUPS
#define WEIR_COOPERATIVE_GROUPS
#define WEIR_CG WEIR_BOTH inline __attribute__((always_inline))
#ifndef WEIR_RANKS  // what ballot and match return
#define WEIR_RANKS weir_host::lane_bits
#endif

namespace weir_host {
// The lanes of the calling thread's tile of n threads.
WEIR_CG lane_bits tile_lanes(unsigned int __n) {
  const lane_bits __low = __n >= sizeof(lane_bits) * 8 ? all_lanes : (lane_bits)(((lane_bits)1 << __n) - 1);
  return (lane_bits)(__low << ((unsigned int)__weir_lane() / __n * __n));
}
// Converts a set of lanes to a set of ranks in the group that consists of `lanes`.
WEIR_CG lane_bits ranks_of(lane_bits __bits, lane_bits __lanes) {
  lane_bits __ranks = 0;
  for (unsigned int __r = 0; __lanes != 0; __lanes &= __lanes - 1, ++__r)
    __ranks |= (lane_bits)(__bits >> __builtin_ctzll(__lanes) & 1) << __r;
  return __ranks;
}
}  // namespace weir_host

namespace cooperative_groups {

// The common part of tiles and coalesced groups. `G::weir_lanes()` returns the group's lanes.
template <class weir_G>
struct weir_lane_group {
  WEIR_CG unsigned int thread_rank() const {
    return weir_host::rank_of(__lanes());
  }
  WEIR_CG void sync(WEIR_HERE) const {
    WEIR_AT("sync");
    __weir_warp_barrier(__lanes());
  }
  template <class weir_T>
  WEIR_CG weir_T shfl(weir_T __v, int __rank, WEIR_HERE) const {
    WEIR_AT("shfl");
    return __exchange(__v, (int)((unsigned int)__rank % size()));
  }
  template <class weir_T>
  WEIR_CG weir_T shfl_up(weir_T __v, unsigned int __delta, WEIR_HERE) const {
    WEIR_AT("shfl_up");
    return __exchange(__v, (int)thread_rank() - (int)__delta);
  }
  template <class weir_T>
  WEIR_CG weir_T shfl_down(weir_T __v, unsigned int __delta, WEIR_HERE) const {
    WEIR_AT("shfl_down");
    return __exchange(__v, (int)thread_rank() + (int)__delta);
  }
  template <class weir_T>
  WEIR_CG weir_T shfl_xor(weir_T __v, unsigned int __bits, WEIR_HERE) const {
    WEIR_AT("shfl_xor");
    return __exchange(__v, (int)(thread_rank() ^ __bits));
  }
  WEIR_CG int any(int __predicate, WEIR_HERE) const {
    WEIR_AT("any");
    return __weir_ballot(__lanes(), __predicate) != 0;
  }
  WEIR_CG int all(int __predicate, WEIR_HERE) const {
    WEIR_AT("all");
    return __weir_ballot(__lanes(), __predicate == 0) == 0;
  }
  WEIR_CG WEIR_RANKS ballot(int __predicate, WEIR_HERE) const {
    WEIR_AT("ballot");
    return weir_host::ranks_of((weir_host::lane_bits)__weir_ballot(__lanes(), __predicate), __lanes());
  }
  template <class weir_T>
  WEIR_CG WEIR_RANKS match_any(weir_T __v, WEIR_HERE) const {
    WEIR_AT("match_any");
    return weir_host::ranks_of(weir_host::match_any(__lanes(), __v), __lanes());
  }
  template <class weir_T>
  WEIR_CG WEIR_RANKS match_all(weir_T __v, int& __same, WEIR_HERE) const {
    WEIR_AT("match_all");
    const weir_host::lane_bits __all = weir_host::match_all(__lanes(), __v);
    __same = __all != 0;
    return weir_host::ranks_of(__all, __lanes());
  }

 private:
  WEIR_CG weir_host::lane_bits __lanes() const { return static_cast<const weir_G*>(this)->weir_lanes(); }
  WEIR_CG unsigned int size() const { return static_cast<const weir_G*>(this)->size(); }
  // For a rank outside of the group, returns the calling thread's own value.
  template <class weir_T>
  WEIR_CG weir_T __exchange(const weir_T& __v, int __rank) const {
    const bool __of_group = __rank >= 0 && (unsigned int)__rank < size();
    return weir_host::shuffle(__lanes(), __v,
                              __of_group ? weir_host::lane_of(__lanes(), (unsigned int)__rank) : __weir_lane());
  }
};

struct thread_block {
  static WEIR_CG void sync(WEIR_HERE) {
    WEIR_AT("sync of a thread_block");
    __weir_barrier();
  }
  // Arriving does nothing: barrier_wait is the whole barrier.
  struct arrival_token {};
  static WEIR_CG arrival_token barrier_arrive() { return {}; }
  static WEIR_CG void barrier_wait(arrival_token&&, WEIR_HERE) { sync(weir_file, weir_line); }
  static WEIR_CG unsigned int thread_rank() { return weir_host::linear_thread(); }
  static WEIR_CG unsigned int size() { return ::blockDim.x * ::blockDim.y * ::blockDim.z; }
  static WEIR_CG unsigned int num_threads() { return size(); }
  static WEIR_CG dim3 group_index() { return dim3(::blockIdx.x, ::blockIdx.y, ::blockIdx.z); }
  static WEIR_CG dim3 thread_index() { return dim3(::threadIdx.x, ::threadIdx.y, ::threadIdx.z); }
  static WEIR_CG dim3 group_dim() { return dim3(::blockDim.x, ::blockDim.y, ::blockDim.z); }
  static WEIR_CG dim3 dim_threads() { return dim3(::blockDim.x, ::blockDim.y, ::blockDim.z); }
};
WEIR_CG thread_block this_thread_block() { return {}; }

struct grid_group {
  static WEIR_CG void sync(WEIR_HERE) {
    WEIR_AT("sync of a grid_group");
    __weir_grid_barrier();
  }
  static WEIR_CG bool is_valid() { return true; }
  static WEIR_CG unsigned long long block_rank() {
    return (::blockIdx.z * (unsigned long long)::gridDim.y + ::blockIdx.y) * ::gridDim.x + ::blockIdx.x;
  }
  static WEIR_CG dim3 block_index() { return dim3(::blockIdx.x, ::blockIdx.y, ::blockIdx.z); }
  static WEIR_CG unsigned long long num_blocks() { return (unsigned long long)::gridDim.x * ::gridDim.y * ::gridDim.z; }
  static WEIR_CG unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + weir_host::linear_thread();
  }
  static WEIR_CG unsigned long long size() { return num_blocks() * thread_block::size(); }
  static WEIR_CG unsigned long long num_threads() { return size(); }
  static WEIR_CG dim3 group_dim() { return dim3(::gridDim.x, ::gridDim.y, ::gridDim.z); }
  static WEIR_CG dim3 dim_blocks() { return dim3(::gridDim.x, ::gridDim.y, ::gridDim.z); }
};
WEIR_CG grid_group this_grid() { return {}; }

template <unsigned int weir_N, class weir_Parent = void>
struct thread_block_tile : weir_lane_group<thread_block_tile<weir_N, weir_Parent>> {
  static_assert(weir_N != 0 && (weir_N & (weir_N - 1)) == 0 && weir_N <= sizeof(weir_host::lane_bits) * 8,
                "a tile has a power of two of threads, no more than a warp");
  static constexpr unsigned int weir_most_lanes = weir_N;
  unsigned int weir_rank;
  unsigned short weir_meta_rank, weir_meta_size;
  WEIR_CG weir_host::lane_bits weir_lanes() const { return weir_host::tile_lanes(weir_N); }
  WEIR_CG unsigned int thread_rank() const { return weir_rank; }
  static constexpr unsigned int size() { return weir_N; }
  static constexpr unsigned int num_threads() { return weir_N; }
  WEIR_CG unsigned int meta_group_rank() const { return weir_meta_rank; }
  WEIR_CG unsigned int meta_group_size() const { return weir_meta_size; }
  WEIR_CG operator thread_block_tile<weir_N, void>() const {
    thread_block_tile<weir_N, void> __tile;
    __tile.weir_rank = weir_rank;
    __tile.weir_meta_rank = weir_meta_rank;
    __tile.weir_meta_size = weir_meta_size;
    return __tile;
  }
};
template <unsigned int weir_N, class weir_Parent>
WEIR_CG thread_block_tile<weir_N, weir_Parent> tiled_partition(const weir_Parent& __parent) {
  thread_block_tile<weir_N, weir_Parent> __tile;
  __tile.weir_rank = __parent.thread_rank() % weir_N;
  __tile.weir_meta_rank = (unsigned short)(__parent.thread_rank() / weir_N);
  __tile.weir_meta_size = (unsigned short)((__parent.size() + weir_N - 1) / weir_N);
  return __tile;
}

struct coalesced_group : weir_lane_group<coalesced_group> {
  static constexpr unsigned int weir_most_lanes = sizeof(weir_host::lane_bits) * 8;
  weir_host::lane_bits weir_named;
  unsigned short weir_meta_rank, weir_meta_size;
  coalesced_group() = default;
  WEIR_CG explicit coalesced_group(weir_host::lane_bits __lanes, unsigned int __meta_rank = 0, unsigned int __meta_size = 1)
      : weir_named(__lanes), weir_meta_rank((unsigned short)__meta_rank), weir_meta_size((unsigned short)__meta_size) {}
  WEIR_CG unsigned int meta_group_rank() const { return weir_meta_rank; }
  WEIR_CG unsigned int meta_group_size() const { return weir_meta_size; }
  WEIR_CG weir_host::lane_bits weir_lanes() const { return weir_named; }
  WEIR_CG unsigned int size() const { return (unsigned int)__builtin_popcountll(weir_named); }
  WEIR_CG unsigned int num_threads() const { return size(); }
};
// A line may contain several calls.
#if __has_builtin(__builtin_COLUMN)
#define WEIR_COLUMN __builtin_COLUMN()
#else
#define WEIR_COLUMN 0
#endif
WEIR_CG coalesced_group coalesced_threads(WEIR_HERE, size_t weir_column = WEIR_COLUMN) {
  WEIR_SET_PLACE("coalesced_threads", weir_file, weir_line, weir_column);
  return coalesced_group((weir_host::lane_bits)__weir_active());
}

// A block, a tile whose size is known only at run time, or a coalesced group.
struct thread_group : weir_lane_group<thread_group> {
  static constexpr unsigned int weir_most_lanes = sizeof(weir_host::lane_bits) * 8;
  unsigned int weir_size;
  weir_host::lane_bits weir_named;  // 0 for a block
  thread_group() = default;
  WEIR_CG thread_group(unsigned int __size, weir_host::lane_bits __lanes) : weir_size(__size), weir_named(__lanes) {}
  WEIR_CG thread_group(const thread_block& __g) : thread_group(__g.size(), 0) {}
  template <unsigned int weir_N, class weir_Parent>
  WEIR_CG thread_group(const thread_block_tile<weir_N, weir_Parent>& __g) : thread_group(weir_N, __g.weir_lanes()) {}
  WEIR_CG thread_group(const coalesced_group& __g) : thread_group(__g.size(), __g.weir_named) {}
  WEIR_CG weir_host::lane_bits weir_lanes() const { return weir_named; }
  WEIR_CG unsigned int size() const { return weir_size; }
  WEIR_CG unsigned int num_threads() const { return weir_size; }
  WEIR_CG unsigned int thread_rank() const {
    return weir_named != 0 ? weir_lane_group<thread_group>::thread_rank() : weir_host::linear_thread();
  }
  WEIR_CG void sync(WEIR_HERE) const {
    WEIR_AT(weir_named != 0 ? "sync" : "sync of a thread_block");
    if (weir_named != 0) {
      __weir_warp_barrier(weir_named);
    } else {
      __weir_barrier();
    }
  }
};
template <class weir_Parent>
WEIR_CG thread_group tiled_partition(const weir_Parent&, unsigned int __n) {
  return thread_group(__n, weir_host::tile_lanes(__n));
}

// Splits a coalesced group into tiles of n consecutive ranks, and returns the calling thread's tile.
WEIR_CG coalesced_group tiled_partition(const coalesced_group& __parent, unsigned int __n) {
  weir_host::lane_bits __left = __parent.weir_named, __tile = 0;
  const unsigned int __first = __parent.thread_rank() / __n * __n;
  for (unsigned int __rank = 0; __left != 0 && __rank < __first + __n; ++__rank, __left &= __left - 1)
    if (__rank >= __first) __tile |= __left & (~__left + 1);
  return coalesced_group(__tile, __parent.thread_rank() / __n, (__parent.size() + __n - 1) / __n);
}

template <class weir_G>
WEIR_CG void sync(const weir_G& __group, WEIR_HERE) {
  __group.sync(weir_file, weir_line);
}

template <class weir_G, class weir_F, class... weir_A>
WEIR_CG void invoke_one(const weir_G& __group, weir_F&& __f, weir_A&&... __a) {
  if (__group.thread_rank() == 0) __f(static_cast<weir_A&&>(__a)...);
}

#define WEIR_OPERATION(name, expression)                                                              \
  template <class weir_T>                                                                             \
  struct name {                                                                                       \
    WEIR_CG weir_T operator()(weir_T __a, weir_T __b) const { return (weir_T)(expression); }          \
  };
WEIR_OPERATION(plus, __a + __b)
WEIR_OPERATION(less, __b < __a ? __b : __a)
WEIR_OPERATION(greater, __a < __b ? __b : __a)
WEIR_OPERATION(bit_and, __a & __b)
WEIR_OPERATION(bit_or, __a | __b)
WEIR_OPERATION(bit_xor, __a ^ __b)
#undef WEIR_OPERATION

template <class weir_G, class weir_T, class weir_Op>
WEIR_CG weir_T reduce(const weir_G& __group, weir_T __v, weir_Op __op, WEIR_HERE) {
  WEIR_AT("reduce");
  return weir_host::reduce(__group.weir_lanes(), weir_G::weir_most_lanes, __v, __op);
}
template <class weir_G, class weir_T, class weir_Op>
WEIR_CG weir_T inclusive_scan(const weir_G& __group, weir_T __v, weir_Op __op, WEIR_HERE) {
  WEIR_AT("inclusive_scan");
  return weir_host::scan(__group.weir_lanes(), weir_G::weir_most_lanes, __v, __op);
}
template <class weir_G, class weir_T, class weir_Op>
WEIR_CG weir_T exclusive_scan(const weir_G& __group, weir_T __v, weir_Op __op, WEIR_HERE) {
  WEIR_AT("exclusive_scan");
  const weir_T __sum = weir_host::scan(__group.weir_lanes(), weir_G::weir_most_lanes, __v, __op);
  const unsigned int __rank = weir_host::rank_of(__group.weir_lanes());
  const weir_T __before = weir_host::shuffle(__group.weir_lanes(), __sum,
                                      __rank != 0 ? weir_host::lane_of(__group.weir_lanes(), __rank - 1) : __weir_lane());
  return __rank != 0 ? __before : weir_T();
}
template <class weir_G, class weir_T>
WEIR_CG weir_T inclusive_scan(const weir_G& __group, weir_T __v, WEIR_HERE) {
  return inclusive_scan(__group, __v, plus<weir_T>(), weir_file, weir_line);
}
template <class weir_G, class weir_T>
WEIR_CG weir_T exclusive_scan(const weir_G& __group, weir_T __v, WEIR_HERE) {
  return exclusive_scan(__group, __v, plus<weir_T>(), weir_file, weir_line);
}

// Returns the threads of the group that pass the same label as the calling thread.
template <class weir_G, class weir_T>
WEIR_CG coalesced_group labeled_partition(const weir_G& __group, weir_T __label, WEIR_HERE) {
  WEIR_AT("labeled_partition");
  const weir_host::lane_bits __same = weir_host::match_any(__group.weir_lanes(), __label), __first = __same & (~__same + 1);
  const auto __firsts = (weir_host::lane_bits)__weir_ballot(__group.weir_lanes(), (__first >> __weir_lane() & 1) != 0);
  return coalesced_group(__same, (unsigned int)__builtin_popcountll(__firsts & (__first - 1)),
                         (unsigned int)__builtin_popcountll(__firsts));
}
template <class weir_G>
WEIR_CG coalesced_group binary_partition(const weir_G& __group, bool __label, WEIR_HERE) {
  WEIR_AT("binary_partition");
  const weir_host::lane_bits __same = weir_host::match_any(__group.weir_lanes(), __label);
  return __same == __group.weir_lanes() ? coalesced_group(__same) : coalesced_group(__same, __label, 2);
}

}  // namespace cooperative_groups
#endif
)weir";

}  // namespace weir::kernels
