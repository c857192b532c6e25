// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The text of `<cooperative_groups.h>`, which also serves as `<hip/hip_cooperative_groups.h>`, for kernels whose threads
/// are fibers. It has the part that CUDA and HIP share.
namespace weir::kernels {

inline constexpr const char* fiber_groups_header = R"weir(
#ifndef WEIR_COOPERATIVE_GROUPS
#define WEIR_COOPERATIVE_GROUPS
#define WEIR_CG WEIR_BOTH inline __attribute__((always_inline))

namespace weir_host {
// The lanes of the calling thread's tile of n threads.
WEIR_CG lane_bits tile_lanes(unsigned int n) {
  const lane_bits low = n >= sizeof(lane_bits) * 8 ? all_lanes : (lane_bits)(((lane_bits)1 << n) - 1);
  return (lane_bits)(low << ((unsigned int)__weir_lane() / n * n));
}
// Converts a set of lanes to a set of ranks in the group that consists of `lanes`.
WEIR_CG lane_bits ranks_of(lane_bits bits, lane_bits lanes) {
  lane_bits ranks = 0;
  for (unsigned int r = 0; lanes != 0; lanes &= lanes - 1, ++r)
    ranks |= (lane_bits)(bits >> __builtin_ctzll(lanes) & 1) << r;
  return ranks;
}
}  // namespace weir_host

namespace cooperative_groups {

// The common part of tiles and coalesced groups. `G::weir_lanes()` returns the group's lanes.
template <class G>
struct weir_lane_group {
  WEIR_CG unsigned int thread_rank() const {
    return weir_host::rank_of(lanes());
  }
  WEIR_CG void sync(WEIR_HERE) const {
    WEIR_AT("sync");
    __weir_warp_barrier(lanes());
  }
  template <class T>
  WEIR_CG T shfl(T v, int rank, WEIR_HERE) const {
    WEIR_AT("shfl");
    return exchange(v, (int)((unsigned int)rank % size()));
  }
  template <class T>
  WEIR_CG T shfl_up(T v, unsigned int delta, WEIR_HERE) const {
    WEIR_AT("shfl_up");
    return exchange(v, (int)thread_rank() - (int)delta);
  }
  template <class T>
  WEIR_CG T shfl_down(T v, unsigned int delta, WEIR_HERE) const {
    WEIR_AT("shfl_down");
    return exchange(v, (int)thread_rank() + (int)delta);
  }
  template <class T>
  WEIR_CG T shfl_xor(T v, unsigned int bits, WEIR_HERE) const {
    WEIR_AT("shfl_xor");
    return exchange(v, (int)(thread_rank() ^ bits));
  }
  WEIR_CG int any(int predicate, WEIR_HERE) const {
    WEIR_AT("any");
    return __weir_ballot(lanes(), predicate) != 0;
  }
  WEIR_CG int all(int predicate, WEIR_HERE) const {
    WEIR_AT("all");
    return __weir_ballot(lanes(), predicate == 0) == 0;
  }
  WEIR_CG weir_host::lane_bits ballot(int predicate, WEIR_HERE) const {
    WEIR_AT("ballot");
    return weir_host::ranks_of((weir_host::lane_bits)__weir_ballot(lanes(), predicate), lanes());
  }
  template <class T>
  WEIR_CG weir_host::lane_bits match_any(T v, WEIR_HERE) const {
    WEIR_AT("match_any");
    return weir_host::ranks_of(weir_host::match_any(lanes(), v), lanes());
  }
  template <class T>
  WEIR_CG weir_host::lane_bits match_all(T v, int& same, WEIR_HERE) const {
    WEIR_AT("match_all");
    const weir_host::lane_bits all = weir_host::match_all(lanes(), v);
    same = all != 0;
    return weir_host::ranks_of(all, lanes());
  }

 private:
  WEIR_CG weir_host::lane_bits lanes() const { return static_cast<const G*>(this)->weir_lanes(); }
  WEIR_CG unsigned int size() const { return static_cast<const G*>(this)->size(); }
  // For a rank outside of the group, returns the calling thread's own value.
  template <class T>
  WEIR_CG T exchange(const T& v, int rank) const {
    const bool of_group = rank >= 0 && (unsigned int)rank < size();
    return weir_host::shuffle(lanes(), v, of_group ? weir_host::lane_of(lanes(), (unsigned int)rank) : __weir_lane());
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
  static WEIR_CG dim3 group_index() { return dim3(::blockIdx); }
  static WEIR_CG dim3 thread_index() { return dim3(::threadIdx); }
  static WEIR_CG dim3 group_dim() { return ::blockDim; }
  static WEIR_CG dim3 dim_threads() { return ::blockDim; }
};
WEIR_CG thread_block this_thread_block() { return {}; }

struct grid_group {
  static WEIR_CG void sync(WEIR_HERE) {
    WEIR_AT("sync of a grid_group");
    __weir_grid_barrier();
  }
  static WEIR_CG unsigned long long block_rank() {
    return (::blockIdx.z * (unsigned long long)::gridDim.y + ::blockIdx.y) * ::gridDim.x + ::blockIdx.x;
  }
  static WEIR_CG dim3 block_index() { return dim3(::blockIdx); }
  static WEIR_CG unsigned long long num_blocks() { return (unsigned long long)::gridDim.x * ::gridDim.y * ::gridDim.z; }
  static WEIR_CG unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + weir_host::linear_thread();
  }
  static WEIR_CG unsigned long long size() { return num_blocks() * thread_block::size(); }
  static WEIR_CG unsigned long long num_threads() { return size(); }
  static WEIR_CG dim3 group_dim() { return ::gridDim; }
  static WEIR_CG dim3 dim_blocks() { return ::gridDim; }
};
WEIR_CG grid_group this_grid() { return {}; }

template <unsigned int N, class Parent = void>
struct thread_block_tile : weir_lane_group<thread_block_tile<N, Parent>> {
  static_assert(N != 0 && (N & (N - 1)) == 0 && N <= (unsigned int)warpSize,
                "a tile has a power of two of threads, no more than a warp");
  static constexpr unsigned int weir_most_lanes = N;
  unsigned int weir_rank;
  unsigned short weir_meta_rank, weir_meta_size;
  WEIR_CG weir_host::lane_bits weir_lanes() const { return weir_host::tile_lanes(N); }
  WEIR_CG unsigned int thread_rank() const { return weir_rank; }
  static constexpr unsigned int size() { return N; }
  static constexpr unsigned int num_threads() { return N; }
  WEIR_CG unsigned int meta_group_rank() const { return weir_meta_rank; }
  WEIR_CG unsigned int meta_group_size() const { return weir_meta_size; }
  WEIR_CG operator thread_block_tile<N, void>() const {
    thread_block_tile<N, void> tile;
    tile.weir_rank = weir_rank;
    tile.weir_meta_rank = weir_meta_rank;
    tile.weir_meta_size = weir_meta_size;
    return tile;
  }
};
template <unsigned int N, class Parent>
WEIR_CG thread_block_tile<N, Parent> tiled_partition(const Parent& parent) {
  thread_block_tile<N, Parent> tile;
  tile.weir_rank = parent.thread_rank() % N;
  tile.weir_meta_rank = (unsigned short)(parent.thread_rank() / N);
  tile.weir_meta_size = (unsigned short)((parent.size() + N - 1) / N);
  return tile;
}

struct coalesced_group : weir_lane_group<coalesced_group> {
  static constexpr unsigned int weir_most_lanes = warpSize;
  weir_host::lane_bits weir_named;
  unsigned short weir_meta_rank, weir_meta_size;
  coalesced_group() = default;
  WEIR_CG explicit coalesced_group(weir_host::lane_bits lanes, unsigned int meta_rank = 0, unsigned int meta_size = 1)
      : weir_named(lanes), weir_meta_rank((unsigned short)meta_rank), weir_meta_size((unsigned short)meta_size) {}
  WEIR_CG unsigned int meta_group_rank() const { return weir_meta_rank; }
  WEIR_CG unsigned int meta_group_size() const { return weir_meta_size; }
  WEIR_CG weir_host::lane_bits weir_lanes() const { return weir_named; }
  WEIR_CG unsigned int size() const { return (unsigned int)__builtin_popcountll(weir_named); }
  WEIR_CG unsigned int num_threads() const { return size(); }
};
#define coalesced_threads() coalesced_threads(__COUNTER__)
WEIR_CG coalesced_group(coalesced_threads)(size_t number, WEIR_HERE) {
  WEIR_SET_PLACE("coalesced_threads", weir_file, weir_line, number);
  return coalesced_group((weir_host::lane_bits)__weir_active());
}

// A block, a tile whose size is known only at run time, or a coalesced group.
struct thread_group : weir_lane_group<thread_group> {
  static constexpr unsigned int weir_most_lanes = warpSize;
  unsigned int weir_size;
  weir_host::lane_bits weir_named;  // 0 for a block
  thread_group() = default;
  WEIR_CG thread_group(unsigned int size, weir_host::lane_bits lanes) : weir_size(size), weir_named(lanes) {}
  WEIR_CG thread_group(const thread_block& g) : thread_group(g.size(), 0) {}
  template <unsigned int N, class Parent>
  WEIR_CG thread_group(const thread_block_tile<N, Parent>& g) : thread_group(N, g.weir_lanes()) {}
  WEIR_CG thread_group(const coalesced_group& g) : thread_group(g.size(), g.weir_named) {}
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
template <class Parent>
WEIR_CG thread_group tiled_partition(const Parent&, unsigned int n) {
  return thread_group(n, weir_host::tile_lanes(n));
}

// Splits a coalesced group into tiles of n consecutive ranks, and returns the calling thread's tile.
WEIR_CG coalesced_group tiled_partition(const coalesced_group& parent, unsigned int n) {
  weir_host::lane_bits left = parent.weir_named, tile = 0;
  for (unsigned int rank = 0, first = parent.thread_rank() / n * n; left != 0 && rank < first + n; ++rank, left &= left - 1)
    if (rank >= first) tile |= left & (~left + 1);
  return coalesced_group(tile, parent.thread_rank() / n, (parent.size() + n - 1) / n);
}

template <class G>
WEIR_CG void sync(const G& group, WEIR_HERE) {
  group.sync(weir_file, weir_line);
}

template <class T> struct plus { WEIR_CG T operator()(T a, T b) const { return (T)(a + b); } };
template <class T> struct less { WEIR_CG T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { WEIR_CG T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { WEIR_CG T operator()(T a, T b) const { return (T)(a & b); } };
template <class T> struct bit_or { WEIR_CG T operator()(T a, T b) const { return (T)(a | b); } };
template <class T> struct bit_xor { WEIR_CG T operator()(T a, T b) const { return (T)(a ^ b); } };

template <class G, class T, class Op>
WEIR_CG T reduce(const G& group, T v, Op op, WEIR_HERE) {
  WEIR_AT("reduce");
  return weir_host::reduce(group.weir_lanes(), G::weir_most_lanes, v, op);
}
template <class G, class T, class Op>
WEIR_CG T inclusive_scan(const G& group, T v, Op op, WEIR_HERE) {
  WEIR_AT("inclusive_scan");
  return weir_host::scan(group.weir_lanes(), G::weir_most_lanes, v, op);
}
template <class G, class T, class Op>
WEIR_CG T exclusive_scan(const G& group, T v, Op op, WEIR_HERE) {
  WEIR_AT("exclusive_scan");
  const T sum = weir_host::scan(group.weir_lanes(), G::weir_most_lanes, v, op);
  const unsigned int rank = weir_host::rank_of(group.weir_lanes());
  const T before = weir_host::shuffle(group.weir_lanes(), sum,
                                      rank != 0 ? weir_host::lane_of(group.weir_lanes(), rank - 1) : __weir_lane());
  return rank != 0 ? before : T();
}
template <class G, class T>
WEIR_CG T inclusive_scan(const G& group, T v, WEIR_HERE) {
  return inclusive_scan(group, v, plus<T>(), weir_file, weir_line);
}
template <class G, class T>
WEIR_CG T exclusive_scan(const G& group, T v, WEIR_HERE) {
  return exclusive_scan(group, v, plus<T>(), weir_file, weir_line);
}

// Returns the threads of the group that pass the same label as the calling thread.
template <class G, class T>
WEIR_CG coalesced_group labeled_partition(const G& group, T label, WEIR_HERE) {
  WEIR_AT("labeled_partition");
  const weir_host::lane_bits same = weir_host::match_any(group.weir_lanes(), label), first = same & (~same + 1);
  const auto firsts = (weir_host::lane_bits)__weir_ballot(group.weir_lanes(), (first >> __weir_lane() & 1) != 0);
  return coalesced_group(same, (unsigned int)__builtin_popcountll(firsts & (first - 1)),
                         (unsigned int)__builtin_popcountll(firsts));
}
template <class G>
WEIR_CG coalesced_group binary_partition(const G& group, bool label, WEIR_HERE) {
  WEIR_AT("binary_partition");
  const weir_host::lane_bits same = weir_host::match_any(group.weir_lanes(), label);
  return same == group.weir_lanes() ? coalesced_group(same) : coalesced_group(same, label, 2);
}

}  // namespace cooperative_groups
#endif
)weir";

}  // namespace weir::kernels
