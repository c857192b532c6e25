// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Warps of split kernels: what lanes hand each other lies in arrays over the block's threads.
namespace weir::kernels {

inline constexpr std::string_view runtime_warps = R"weir(
namespace weir_host {

template <bool wide>
struct lane_mask {
  using type = unsigned int;
};
template <>
struct lane_mask<true> {
  using type = unsigned long long;
};
// One bit a lane: what __ballot_sync gives.
using lane_bits = lane_mask<(warpSize > 32)>::type;
constexpr lane_bits all_lanes = (lane_bits)~(lane_bits)0;

// The lanes of the warp that begins at thread `first` that are in the mask.
inline lane_bits lanes_in(const mask& m, int first) {
  const int count = m.n - first < warpSize ? m.n - first : warpSize;
  if (m.full()) return count == warpSize ? all_lanes : (lane_bits)(((lane_bits)1 << count) - 1);
  lane_bits bits = 0;
  for (int l = 0; l < count; ++l) bits |= (lane_bits)m.has((unsigned int)(first + l)) << l;
  return bits;
}

// Each lane that calls must be named in its mask, and each that is named and has not come to the kernel's end must call.
template <class M>
inline bool check_lanes(block& b, const mask& m, const char* place, const char* function, const M& named) {
  const bool none_missing = m.count == b.alive.count;
  for (int first = m.low / warpSize * warpSize; first < m.high; first += warpSize) {
    const lane_bits here = lanes_in(m, first);
    const lane_bits alive = none_missing ? here : (lane_bits)(lanes_in(b.alive, first) & lanes_in(*b.awaited, first));
    for (int l = 0; l < warpSize && first + l < m.n; ++l) {
      if ((here >> l & 1) == 0) continue;
      const lane_bits mine = (lane_bits)get(named, (unsigned int)(first + l));
      const lane_bits missing = (lane_bits)(mine & alive & ~here);
      if ((mine >> l & 1) != 0 && missing == 0) continue;
      return b.fail(place, function, (unsigned int)(first + l), 0, 0, missing);
    }
  }
  return true;
}
template <class T>
struct is_lanes {
  static constexpr bool value = false;
};
template <class T, bool large>
struct is_lanes<lanes<T, large>> {
  static constexpr bool value = true;
};
template <class M>
WEIR_ALWAYS_INLINE bool check_mask(block& b, const mask& m, const char* place, const char* function, const M& named) {
  if (!is_lanes<M>::value && m.count == b.alive.count && (lane_bits)get(named, 0) == all_lanes) return true;
  return check_lanes(b, m, place, function, named);
}

WEIR_ALWAYS_INLINE bool meet__syncwarp(block&, const mask&, const char*) { return true; }
template <class M>
WEIR_ALWAYS_INLINE bool meet__syncwarp(block& b, const mask& m, const char* place, const M& named) {
  return check_mask(b, m, place, "__syncwarp", named);
}

// --- Shuffles. A lane that does not call gives zero, as on NVIDIA's and AMD's processors. Kernels rely on it that sum over
// fewer lanes than a warp has.
template <class R, class V, class S>
WEIR_ALWAYS_INLINE void exchange(const mask& m, R& result, const V& v, S&& source) {
  if (m.full()) {
    const int n = m.n;
    for (int t = 0; t < n; ++t) {
      const int s = source(t);
      const value_of<V> x = get(v, (unsigned int)(s < n ? s : t));
      result.at((unsigned int)t) = s < n ? x : value_of<V>{};
    }
  } else {
    for (int t = m.low; t < m.high; ++t) {
      if (!m.has((unsigned int)t)) continue;
      const int s = source(t);
      result.at((unsigned int)t) = s < m.n && m.has((unsigned int)s) ? (value_of<V>)get(v, (unsigned int)s) : value_of<V>{};
    }
  }
}
template <class R, class V, class L, class W>
WEIR_ALWAYS_INLINE void shuffle(const mask& m, R& result, const V& v, const L& lane, const W& width) {
  exchange(m, result, v, [&](int t) __attribute__((always_inline)) {
    const int w = (int)get(width, (unsigned int)t);
    return (t & ~(w - 1)) + ((int)get(lane, (unsigned int)t) & (w - 1));
  });
}
template <class R, class V, class L, class W>
WEIR_ALWAYS_INLINE void shuffle_up(const mask& m, R& result, const V& v, const L& delta, const W& width) {
  exchange(m, result, v, [&](int t) __attribute__((always_inline)) {
    const int w = (int)get(width, (unsigned int)t), d = (int)get(delta, (unsigned int)t);
    return (t & (w - 1)) >= d ? t - d : t;
  });
}
template <class R, class V, class L, class W>
WEIR_ALWAYS_INLINE void shuffle_down(const mask& m, R& result, const V& v, const L& delta, const W& width) {
  exchange(m, result, v, [&](int t) __attribute__((always_inline)) {
    const int w = (int)get(width, (unsigned int)t), d = (int)get(delta, (unsigned int)t);
    return (t & (w - 1)) + d < w ? t + d : t;
  });
}
template <class R, class V, class L, class W>
WEIR_ALWAYS_INLINE void shuffle_xor(const mask& m, R& result, const V& v, const L& bits, const W& width) {
  exchange(m, result, v, [&](int t) __attribute__((always_inline)) {
    const int w = (int)get(width, (unsigned int)t), s = t ^ (int)get(bits, (unsigned int)t);
    return s <= (t | (w - 1)) ? s : t;
  });
}
#define WEIR_SHUFFLE(name, way)                                                                                      \
  template <class M, class V, class L>                                                                               \
  value_of<V> type_##name##_sync(const M&, const V&, const L&);                                                      \
  template <class M, class V, class L, class W>                                                                      \
  value_of<V> type_##name##_sync(const M&, const V&, const L&, const W&);                                            \
  template <class V, class L>                                                                                        \
  value_of<V> type_##name(const V&, const L&);                                                                       \
  template <class V, class L, class W>                                                                               \
  value_of<V> type_##name(const V&, const L&, const W&);                                                             \
  template <class R, class M, class V, class L, class W>                                                             \
  inline bool meet##name##_sync(block& b, const mask& m, const char* place, R& result, const M& named, const V& v,   \
                                const L& lane, const W& width) {                                                     \
    if (!check_mask(b, m, place, #name "_sync", named)) return false;                                                \
    way(m, result, v, lane, width);                                                                                  \
    return true;                                                                                                     \
  }                                                                                                                  \
  template <class R, class M, class V, class L>                                                                      \
  inline bool meet##name##_sync(block& b, const mask& m, const char* place, R& result, const M& named, const V& v,   \
                                const L& lane) {                                                                     \
    return meet##name##_sync(b, m, place, result, named, v, lane, warpSize);                                         \
  }                                                                                                                  \
  template <class R, class V, class L, class W>                                                                      \
  inline bool meet##name(block&, const mask& m, const char*, R& result, const V& v, const L& lane, const W& width) { \
    way(m, result, v, lane, width);                                                                                  \
    return true;                                                                                                     \
  }                                                                                                                  \
  template <class R, class V, class L>                                                                               \
  inline bool meet##name(block&, const mask& m, const char*, R& result, const V& v, const L& lane) {                 \
    way(m, result, v, lane, warpSize);                                                                               \
    return true;                                                                                                     \
  }
WEIR_SHUFFLE(__shfl, shuffle)
WEIR_SHUFFLE(__shfl_up, shuffle_up)
WEIR_SHUFFLE(__shfl_down, shuffle_down)
WEIR_SHUFFLE(__shfl_xor, shuffle_xor)
#undef WEIR_SHUFFLE

// --- Votes: `f` makes the result of a warp from the lanes that call and those of them that say yes.
template <class R, class P, class F>
inline void vote(const mask& m, R& result, const P& predicate, F&& f) {
  for (int first = m.low / warpSize * warpSize; first < m.high; first += warpSize) {
    const lane_bits here = lanes_in(m, first);
    lane_bits yes = 0;
    for (int l = 0; l < warpSize; ++l) {
      if ((here >> l & 1) != 0) yes |= (lane_bits)(get(predicate, (unsigned int)(first + l)) ? 1 : 0) << l;
    }
    const auto answer = f(here, yes);
    for (int l = 0; l < warpSize; ++l) {
      if ((here >> l & 1) != 0) result.at((unsigned int)(first + l)) = answer;
    }
  }
}
#define WEIR_VOTE(name, result_type, expression)                                                        \
  template <class M, class P>                                                                           \
  result_type type_##name##_sync(const M&, const P&);                                                   \
  template <class P>                                                                                    \
  result_type type_##name(const P&);                                                                    \
  template <class R, class P>                                                                           \
  inline bool meet##name(block&, const mask& m, const char*, R& result, const P& predicate) {           \
    vote(m, result, predicate, [](lane_bits here, lane_bits yes) {                                      \
      (void)here;                                                                                       \
      return (result_type)(expression);                                                                 \
    });                                                                                                 \
    return true;                                                                                        \
  }                                                                                                     \
  template <class R, class M, class P>                                                                  \
  inline bool meet##name##_sync(block& b, const mask& m, const char* place, R& result, const M& named,  \
                                const P& predicate) {                                                   \
    return check_mask(b, m, place, #name "_sync", named) && meet##name(b, m, place, result, predicate); \
  }
WEIR_VOTE(__ballot, lane_bits, yes)
WEIR_VOTE(__any, int, yes != 0)
WEIR_VOTE(__all, int, yes == here)
#undef WEIR_VOTE

lane_bits type___activemask();
template <class R>
inline bool meet__activemask(block&, const mask& m, const char*, R& result) {
  vote(m, result, 1, [](lane_bits here, lane_bits) { return here; });
  return true;
}

// --- What a lane's mask names, of those that are there: `f(first, lanes, lane)` for each.
template <class M, class F>
inline void for_named(const mask& m, const M& named, F&& f) {
  for (int first = m.low / warpSize * warpSize; first < m.high; first += warpSize) {
    const lane_bits here = lanes_in(m, first);
    for (int l = 0; l < warpSize; ++l) {
      if ((here >> l & 1) != 0) f(first, (lane_bits)(here & (lane_bits)get(named, (unsigned int)(first + l))), l);
    }
  }
}
template <class M, class V>
lane_bits type___match_any_sync(const M&, const V&);
template <class R, class M, class V>
inline bool meet__match_any_sync(block& b, const mask& m, const char* place, R& result, const M& named, const V& v) {
  if (!check_mask(b, m, place, "__match_any_sync", named)) return false;
  for_named(m, named, [&](int first, lane_bits lanes, int l) {
    lane_bits same = 0;
    for (int k = 0; k < warpSize; ++k) {
      if ((lanes >> k & 1) != 0 && get(v, (unsigned int)(first + k)) == get(v, (unsigned int)(first + l)))
        same |= (lane_bits)1 << k;
    }
    result.at((unsigned int)(first + l)) = same;
  });
  return true;
}
template <class M, class V, class P>
lane_bits type___match_all_sync(const M&, const V&, const P&);
template <class R, class M, class V, class P>
inline bool meet__match_all_sync(block& b, const mask& m, const char* place, R& result, const M& named, const V& v,
                                 const P& same) {
  if (!check_mask(b, m, place, "__match_all_sync", named)) return false;
  for_named(m, named, [&](int first, lane_bits lanes, int l) {
    bool all = true;
    for (int k = 0; k < warpSize; ++k) {
      if ((lanes >> k & 1) != 0) all = all && get(v, (unsigned int)(first + k)) == get(v, (unsigned int)(first + l));
    }
    result.at((unsigned int)(first + l)) = all ? lanes : 0;
    *get(same, (unsigned int)(first + l)) = all;
  });
  return true;
}
#define WEIR_REDUCE(name, expression)                                                                         \
  template <class M, class V>                                                                                 \
  value_of<V> type_##name(const M&, const V&);                                                                \
  template <class R, class M, class V>                                                                        \
  inline bool meet##name(block& b, const mask& m, const char* place, R& result, const M& named, const V& v) { \
    if (!check_mask(b, m, place, #name, named)) return false;                                                 \
    for_named(m, named, [&](int first, lane_bits lanes, int l) {                                              \
      value_of<V> x = get(v, (unsigned int)(first + l));                                                      \
      for (int k = 0; k < warpSize; ++k) {                                                                    \
        if (k == l || (lanes >> k & 1) == 0) continue;                                                        \
        const value_of<V> y = get(v, (unsigned int)(first + k));                                              \
        x = expression;                                                                                       \
      }                                                                                                       \
      result.at((unsigned int)(first + l)) = x;                                                               \
    });                                                                                                       \
    return true;                                                                                              \
  }
WEIR_REDUCE(__reduce_add_sync, (value_of<V>)(x + y))
WEIR_REDUCE(__reduce_min_sync, (y < x ? y : x))
WEIR_REDUCE(__reduce_max_sync, (x < y ? y : x))
WEIR_REDUCE(__reduce_and_sync, (value_of<V>)(x & y))
WEIR_REDUCE(__reduce_or_sync, (value_of<V>)(x | y))
WEIR_REDUCE(__reduce_xor_sync, (value_of<V>)(x ^ y))
#undef WEIR_REDUCE

}  // namespace weir_host
)weir";

}  // namespace weir::kernels
