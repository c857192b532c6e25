// SPDX-License-Identifier: Apache-2.0
#pragma once

/// `<cooperative_groups.h>`, which is `<hip/hip_cooperative_groups.h>`, too, on the CPU: what CUDA and HIP share. Where
/// threads of a group meet, the splitter calls a `meet_group_…` with the group's object, or with an array of those of all
/// threads.
namespace weir::kernels {

inline constexpr const char* groups_header = R"weir(
#ifndef WEIR_COOPERATIVE_GROUPS
#define WEIR_COOPERATIVE_GROUPS
#define WEIR_CG inline __attribute__((always_inline))
#define this_thread_block() weir_this_thread_block(threadIdx, blockIdx, blockDim)
#define this_grid() weir_this_grid(threadIdx, blockIdx, blockDim, gridDim)

namespace cooperative_groups {

struct thread_block {
  uint3 weir_block;
  unsigned short weir_thread[3], weir_dim[3];
  WEIR_CG unsigned int thread_rank() const {
    return (weir_thread[2] * weir_dim[1] + weir_thread[1]) * weir_dim[0] + weir_thread[0];
  }
  WEIR_CG unsigned int size() const { return weir_dim[0] * weir_dim[1] * weir_dim[2]; }
  WEIR_CG unsigned int num_threads() const { return size(); }
  WEIR_CG dim3 group_index() const { return dim3(weir_block); }
  WEIR_CG dim3 thread_index() const { return dim3(weir_thread[0], weir_thread[1], weir_thread[2]); }
  WEIR_CG dim3 group_dim() const { return dim3(weir_dim[0], weir_dim[1], weir_dim[2]); }
  WEIR_CG dim3 dim_threads() const { return group_dim(); }
};
static WEIR_CG thread_block weir_this_thread_block(const uint3 thread, const uint3 block, const dim3 dim) {
  return {block,
          {(unsigned short)thread.x, (unsigned short)thread.y, (unsigned short)thread.z},
          {(unsigned short)dim.x, (unsigned short)dim.y, (unsigned short)dim.z}};
}

struct grid_group {
  uint3 weir_block;
  dim3 weir_grid;
  unsigned int weir_rank, weir_threads;
  WEIR_CG unsigned long long block_rank() const {
    return (weir_block.z * (unsigned long long)weir_grid.y + weir_block.y) * weir_grid.x + weir_block.x;
  }
  WEIR_CG dim3 block_index() const { return dim3(weir_block); }
  WEIR_CG unsigned long long num_blocks() const { return (unsigned long long)weir_grid.x * weir_grid.y * weir_grid.z; }
  WEIR_CG unsigned long long thread_rank() const { return block_rank() * weir_threads + weir_rank; }
  WEIR_CG unsigned long long size() const { return num_blocks() * weir_threads; }
  WEIR_CG unsigned long long num_threads() const { return size(); }
  WEIR_CG dim3 group_dim() const { return weir_grid; }
  WEIR_CG dim3 dim_blocks() const { return weir_grid; }
};
static WEIR_CG grid_group weir_this_grid(const uint3 thread, const uint3 block, const dim3 dim, const dim3 grid) {
  return {block, grid, (thread.z * dim.y + thread.y) * dim.x + thread.x, dim.x * dim.y * dim.z};
}

template <unsigned int N, class Parent = void>
struct thread_block_tile {
  static_assert(N != 0 && (N & (N - 1)) == 0 && N <= (unsigned int)warpSize,
                "a tile has a power of two of threads, no more than a warp");
  unsigned int weir_rank;
  unsigned short weir_meta_rank, weir_meta_size;
  WEIR_CG unsigned int thread_rank() const { return weir_rank; }
  static constexpr unsigned int size() { return N; }
  static constexpr unsigned int num_threads() { return N; }
  WEIR_CG unsigned int meta_group_rank() const { return weir_meta_rank; }
  WEIR_CG unsigned int meta_group_size() const { return weir_meta_size; }
};
template <unsigned int N, class Parent>
WEIR_CG thread_block_tile<N> tiled_partition(const Parent& parent) {
  return {parent.thread_rank() % N, (unsigned short)(parent.thread_rank() / N),
          (unsigned short)((parent.size() + N - 1) / N)};
}

struct coalesced_group {
  weir_host::lane_bits weir_lanes;
  unsigned int weir_lane;
  WEIR_CG unsigned int size() const { return (unsigned int)__builtin_popcountll(weir_lanes); }
  WEIR_CG unsigned int num_threads() const { return size(); }
  WEIR_CG unsigned int thread_rank() const {
    return (unsigned int)__builtin_popcountll(weir_lanes & (((weir_host::lane_bits)1 << weir_lane) - 1));
  }
};

// A block, a tile of a size that is known when the kernel runs, or threads that came together.
struct thread_group {
  unsigned int weir_size, weir_rank;
  unsigned int weir_tile;  // its size; 0 for a block
  weir_host::lane_bits weir_lanes;  // of those that came together
  thread_group() = default;
  WEIR_CG thread_group(unsigned int size, unsigned int rank, unsigned int tile)
      : weir_size(size), weir_rank(rank), weir_tile(tile), weir_lanes(0) {}
  WEIR_CG thread_group(const thread_block& g) : thread_group(g.size(), g.thread_rank(), 0) {}
  template <unsigned int N>
  WEIR_CG thread_group(const thread_block_tile<N>& g) : thread_group(N, g.thread_rank(), N) {}
  WEIR_CG thread_group(const coalesced_group& g) : thread_group(g.size(), g.thread_rank(), 0) { weir_lanes = g.weir_lanes; }
  WEIR_CG unsigned int size() const { return weir_size; }
  WEIR_CG unsigned int num_threads() const { return weir_size; }
  WEIR_CG unsigned int thread_rank() const { return weir_rank; }
};
template <class Parent>
WEIR_CG thread_group tiled_partition(const Parent& parent, unsigned int n) {
  return thread_group(n, parent.thread_rank() % n, n);
}

template <class T> struct plus { WEIR_CG T operator()(T a, T b) const { return (T)(a + b); } };
template <class T> struct less { WEIR_CG T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { WEIR_CG T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { WEIR_CG T operator()(T a, T b) const { return (T)(a & b); } };
template <class T> struct bit_or { WEIR_CG T operator()(T a, T b) const { return (T)(a | b); } };
template <class T> struct bit_xor { WEIR_CG T operator()(T a, T b) const { return (T)(a ^ b); } };

}  // namespace cooperative_groups

namespace weir_host {
namespace cg = cooperative_groups;

// The lanes of a warp that belong to the group of thread `t`; all of them for a block.
template <class G>
struct no_group {
  static constexpr bool value = false;
};
WEIR_CG lane_bits tile_lanes(unsigned int n, unsigned int t) {
  const lane_bits low = n >= sizeof(lane_bits) * 8 ? all_lanes : (lane_bits)(((lane_bits)1 << n) - 1);
  return (lane_bits)(low << (t % warpSize / n * n));
}
template <class G>
WEIR_CG lane_bits lanes_of(const G&, unsigned int) {
  static_assert(no_group<G>::value,
                "in a source that uses cooperative_groups, sync, shfl, any, all, ballot, match_any, match_all and "
                "reduce are functions of a tile or of threads that came together, and of nothing else");
  return 0;
}
template <unsigned int N>
WEIR_CG lane_bits lanes_of(const cg::thread_block_tile<N>&, unsigned int t) { return tile_lanes(N, t); }
WEIR_CG lane_bits lanes_of(const cg::coalesced_group& g, unsigned int) { return g.weir_lanes; }
WEIR_CG lane_bits lanes_of(const cg::thread_group& g, unsigned int t) {
  return g.weir_tile != 0 ? tile_lanes(g.weir_tile, t) : g.weir_lanes;
}
// The lane of a rank in its group.
template <class G>
WEIR_CG unsigned int lane_of(const G&, lane_bits lanes, unsigned int rank) {
  while (rank-- > 0) lanes &= lanes - 1;
  return (unsigned int)__builtin_ctzll(lanes);
}
template <unsigned int N>
WEIR_CG unsigned int lane_of(const cg::thread_block_tile<N>&, lane_bits lanes, unsigned int rank) {
  return (unsigned int)__builtin_ctzll(lanes) + rank % N;
}

template <class G>
struct group_mask {
  const G& group;
};
template <class G>
WEIR_CG lane_bits get(const group_mask<G>& m, unsigned int t) { return lanes_of(get(m.group, t), t); }
// Every thread that is there is named by itself, so if none is missing, none is named in vain.
template <class G>
WEIR_CG bool check_group(block& b, const mask& m, const char* place, const char* function, const G& g) {
  return m.count == b.alive.count || check_lanes(b, m, place, function, group_mask<G>{g});
}

template <class T>
struct group_kind {
  static constexpr int value = 0;
};
template <>
struct group_kind<cg::thread_block> {
  static constexpr int value = 1;
};
template <>
struct group_kind<cg::grid_group> {
  static constexpr int value = 2;
};
template <>
struct group_kind<cg::thread_group> {
  static constexpr int value = 3;
};
template <int kind>
struct group_sync {
  template <class G>
  static WEIR_CG bool run(block& b, const mask& m, const char* place, const G& g) {
    return check_group(b, m, place, "sync", g);
  }
};
template <>
struct group_sync<1> {
  template <class G>
  static WEIR_CG bool run(block& b, const mask& m, const char* place, const G&) {
    if (__builtin_expect(m.count == b.alive.count, 1)) return true;
    return b.fail(place, "sync of a thread_block", 0, m.count, b.alive.count, 0);
  }
};
template <>
struct group_sync<2> {
  template <class G>
  static WEIR_CG bool run(block& b, const mask& m, const char* place, const G&) {
    if (m.count != b.alive.count) return b.fail(place, "sync of a grid_group", 0, m.count, b.alive.count, 0);
    if (b.range->services->sync_grid(b.range->launch, place)) return true;
    b.failed = true;
    return false;
  }
};
template <>
struct group_sync<3> {
  template <class G>
  static inline bool run(block& b, const mask& m, const char* place, const G& g) {
    bool whole_block = m.any();
    for (int t = m.low; t < m.high; ++t) {
      if (!m.has((unsigned int)t)) continue;
      const cg::thread_group& mine = get(g, (unsigned int)t);
      whole_block = whole_block && mine.weir_tile == 0 && mine.weir_lanes == 0;
    }
    return whole_block ? group_sync<1>::run(b, m, place, g) : group_sync<0>::run(b, m, place, g);
  }
};
template <class G>
WEIR_CG bool meet_group_sync(block& b, const mask& m, const char* place, const G& g) {
  return group_sync<group_kind<value_of<G>>::value>::run(b, m, place, g);
}

#define WEIR_GROUP_SHUFFLE(name, tile_way, rank_expression)                                                                \
  template <class G, class V, class L>                                                                                     \
  value_of<V> type__group_##name(const G&, const V&, const L&);                                                            \
  template <class R, class G, class V, class L>                                                                            \
  inline bool meet_group_##name(block& b, const mask& m, const char* place, R& result, const G& g, const V& v,             \
                                const L& by) {                                                                             \
    if (!check_group(b, m, place, #name, g)) return false;                                                                 \
    exchange(                                                                                                              \
        m, result, v, [&](int t) __attribute__((always_inline)) {                                                          \
          const auto& mine = get(g, (unsigned int)t);                                                                      \
          const lane_bits lanes = lanes_of(mine, (unsigned int)t);                                                         \
          const int rank = (int)mine.thread_rank(), size = (int)mine.size(), k = (int)get(by, (unsigned int)t);            \
          (void)rank;                                                                                                      \
          const int from = rank_expression;                                                                                \
          return t / warpSize * warpSize +                                                                                 \
                 (int)lane_of(mine, lanes, (unsigned int)(from >= 0 && from < size ? from : rank));                        \
        });                                                                                                                \
    return true;                                                                                                           \
  }                                                                                                                        \
  template <class R, unsigned int N, class V, class L>                                                                     \
  WEIR_CG bool meet_group_##name(block& b, const mask& m, const char* place, R& result, const cg::thread_block_tile<N>& g, \
                                 const V& v, const L& by) {                                                                \
    if (!check_group(b, m, place, #name, g)) return false;                                                                 \
    tile_way(m, result, v, by, (int)N);                                                                                    \
    return true;                                                                                                           \
  }
WEIR_GROUP_SHUFFLE(shfl, shuffle, (int)((unsigned int)k % (unsigned int)size))
WEIR_GROUP_SHUFFLE(shfl_up, shuffle_up, rank - k)
WEIR_GROUP_SHUFFLE(shfl_down, shuffle_down, rank + k)
WEIR_GROUP_SHUFFLE(shfl_xor, shuffle_xor, rank ^ k)
#undef WEIR_GROUP_SHUFFLE

// `f(lanes, t)` gives thread t's answer from the lanes of its group that say yes, in the places of their lanes.
template <class R, class G, class P, class F>
inline bool group_vote(block& b, const mask& m, const char* place, const char* function, R& result, const G& g,
                       const P& predicate, F&& f) {
  if (!check_group(b, m, place, function, g)) return false;
  for (int first = m.low / warpSize * warpSize; first < m.high; first += warpSize) {
    const lane_bits here = lanes_in(m, first);
    lane_bits yes = 0;
    for (int l = 0; l < warpSize; ++l) {
      if ((here >> l & 1) != 0) yes |= (lane_bits)(get(predicate, (unsigned int)(first + l)) ? 1 : 0) << l;
    }
    for (int l = 0; l < warpSize; ++l) {
      if ((here >> l & 1) == 0) continue;
      const unsigned int t = (unsigned int)(first + l);
      const lane_bits lanes = lanes_of(get(g, t), t);
      result.at(t) = f((lane_bits)(yes & lanes), (lane_bits)(here & lanes), lanes);
    }
  }
  return true;
}
// From places of lanes to ranks in the group.
inline lane_bits ranks_of(lane_bits bits, lane_bits lanes) {
  lane_bits ranks = 0;
  for (unsigned int r = 0; lanes != 0; lanes &= lanes - 1, ++r)
    ranks |= (lane_bits)(bits >> __builtin_ctzll(lanes) & 1) << r;
  return ranks;
}
#define WEIR_GROUP_VOTE(name, type, expression)                                                                            \
  template <class G, class P>                                                                                              \
  type type__group_##name(const G&, const P&);                                                                             \
  template <class R, class G, class P>                                                                                     \
  inline bool meet_group_##name(block& b, const mask& m, const char* place, R& result, const G& g, const P& predicate) {   \
    return group_vote(b, m, place, #name, result, g, predicate, [](lane_bits yes, lane_bits here, lane_bits lanes) {       \
      (void)here, (void)lanes;                                                                                             \
      return (type)(expression);                                                                                           \
    });                                                                                                                    \
  }
WEIR_GROUP_VOTE(any, int, yes != 0)
WEIR_GROUP_VOTE(all, int, yes == here)
WEIR_GROUP_VOTE(ballot, lane_bits, ranks_of(yes, lanes))
#undef WEIR_GROUP_VOTE

template <class G, class V>
lane_bits type__group_match_any(const G&, const V&);
template <class R, class G, class V>
inline bool meet_group_match_any(block& b, const mask& m, const char* place, R& result, const G& g, const V& v) {
  if (!check_group(b, m, place, "match_any", g)) return false;
  for_named(m, group_mask<G>{g}, [&](int first, lane_bits lanes, int l) {
    lane_bits same = 0;
    for (int k = 0; k < warpSize; ++k) {
      if ((lanes >> k & 1) != 0 && get(v, (unsigned int)(first + k)) == get(v, (unsigned int)(first + l)))
        same |= (lane_bits)1 << k;
    }
    result.at((unsigned int)(first + l)) =
        ranks_of(same, lanes_of(get(g, (unsigned int)(first + l)), (unsigned int)(first + l)));
  });
  return true;
}

template <class G, class V, class Op>
value_of<V> type__group_reduce(const G&, const V&, const Op&);
template <class R, class G, class V, class Op>
inline bool meet_group_reduce(block& b, const mask& m, const char* place, R& result, const G& g, const V& v, const Op& op) {
  if (!check_group(b, m, place, "reduce", g)) return false;
  for_named(m, group_mask<G>{g}, [&](int first, lane_bits lanes, int l) {
    if (__builtin_ctzll(lanes) != l) return;
    int k = l;
    value_of<V> sum = get(v, (unsigned int)(first + k));
    for (lane_bits left = (lane_bits)(lanes & (lanes - 1)); left != 0; left &= left - 1) {
      k = __builtin_ctzll(left);
      sum = get(op, (unsigned int)(first + k))(sum, get(v, (unsigned int)(first + k)));
    }
    for (lane_bits left = lanes; left != 0; left &= left - 1) result.at((unsigned int)(first + __builtin_ctzll(left))) = sum;
  });
  return true;
}

// Each thread's result is that of the threads of its group up to itself; an exclusive one leaves itself out, and begins with
// zero.
template <bool inclusive, class R, class G, class V, class Op>
inline bool group_scan(block& b, const mask& m, const char* place, const char* function, R& result, const G& g, const V& v,
                       const Op& op) {
  if (!check_group(b, m, place, function, g)) return false;
  for_named(m, group_mask<G>{g}, [&](int first, lane_bits lanes, int l) {
    if (__builtin_ctzll(lanes) != l) return;
    value_of<V> sum = value_of<V>(), before = sum;
    for (lane_bits left = lanes; left != 0; left &= left - 1) {
      const unsigned int t = (unsigned int)(first + __builtin_ctzll(left));
      before = sum;
      sum = left == lanes ? get(v, t) : get(op, t)(sum, get(v, t));
      result.at(t) = inclusive ? sum : before;
    }
  });
  return true;
}
#define WEIR_GROUP_SCAN(name, inclusive)                                                                                   \
  template <class G, class V>                                                                                              \
  value_of<V> type__group_##name(const G&, const V&);                                                                      \
  template <class G, class V, class Op>                                                                                    \
  value_of<V> type__group_##name(const G&, const V&, const Op&);                                                           \
  template <class R, class G, class V, class Op>                                                                           \
  inline bool meet_group_##name(block& b, const mask& m, const char* place, R& result, const G& g, const V& v,             \
                                const Op& op) {                                                                            \
    return group_scan<inclusive>(b, m, place, #name, result, g, v, op);                                                    \
  }                                                                                                                        \
  template <class R, class G, class V>                                                                                     \
  inline bool meet_group_##name(block& b, const mask& m, const char* place, R& result, const G& g, const V& v) {           \
    return group_scan<inclusive>(b, m, place, #name, result, g, v, cg::plus<value_of<V>>());                               \
  }
WEIR_GROUP_SCAN(inclusive_scan, true)
WEIR_GROUP_SCAN(exclusive_scan, false)
#undef WEIR_GROUP_SCAN

cg::coalesced_group type__group_coalesced_threads();
template <class R>
inline bool meet_group_coalesced_threads(block&, const mask& m, const char*, R& result) {
  for (int first = m.low / warpSize * warpSize; first < m.high; first += warpSize) {
    const lane_bits here = lanes_in(m, first);
    for (int l = 0; l < warpSize; ++l) {
      if ((here >> l & 1) != 0) result.at((unsigned int)(first + l)) = cg::coalesced_group{here, (unsigned int)l};
    }
  }
  return true;
}

// Those of a group that say the same.
#define WEIR_PARTITION(name, type)                                                                                         \
  template <class G, class V>                                                                                              \
  cg::coalesced_group type__group_##name(const G&, const V&);                                                              \
  template <class R, class G, class V>                                                                                     \
  inline bool meet_group_##name(block& b, const mask& m, const char* place, R& result, const G& g, const V& v) {           \
    if (!check_group(b, m, place, #name, g)) return false;                                                                 \
    for_named(m, group_mask<G>{g}, [&](int first, lane_bits lanes, int l) {                                                \
      lane_bits same = 0;                                                                                                  \
      for (int k = 0; k < warpSize; ++k) {                                                                                 \
        if ((lanes >> k & 1) != 0 && (type)get(v, (unsigned int)(first + k)) == (type)get(v, (unsigned int)(first + l)))   \
          same |= (lane_bits)1 << k;                                                                                       \
      }                                                                                                                    \
      result.at((unsigned int)(first + l)) = cg::coalesced_group{same, (unsigned int)l};                                   \
    });                                                                                                                    \
    return true;                                                                                                           \
  }
WEIR_PARTITION(binary_partition, bool)
WEIR_PARTITION(labeled_partition, value_of<V>)
#undef WEIR_PARTITION

}  // namespace weir_host
#undef WEIR_CG
#endif
)weir";

}  // namespace weir::kernels
