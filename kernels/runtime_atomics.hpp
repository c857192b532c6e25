// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Atomic functions. Blocks of a launch run on several workers at once, so they are the processor's own; as on a GPU, they
/// order nothing else. In `weir_host::alone` stand the same for memory that one worker alone can reach: shared memory of a
/// block.
namespace weir::kernels {

inline constexpr std::string_view runtime_atomics = R"weir(
namespace weir_host {
template <class T>
struct same {
  using type = T;
};
template <class T>
struct atomic_rules {
  static constexpr bool whole = T(1) / T(2) == T(0);
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomic functions take numbers of 32 or 64 bits");
};
template <class T, class F>
inline T atomic_update(T* p, F&& f) {
  T old, next;
  __atomic_load(p, &old, __ATOMIC_RELAXED);
  do {
    next = f(old);
  } while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}
template <class T, bool whole = atomic_rules<T>::whole>
struct atomic_sum {
  static WEIR_ALWAYS_INLINE T add(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
  static WEIR_ALWAYS_INLINE T sub(T* p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }
};
template <class T>
struct atomic_sum<T, false> {
  static WEIR_ALWAYS_INLINE T add(T* p, T v) { return atomic_update(p, [v](T old) { return old + v; }); }
  static WEIR_ALWAYS_INLINE T sub(T* p, T v) { return atomic_update(p, [v](T old) { return old - v; }); }
};
}  // namespace weir_host

#define WEIR_ATOMIC(name, alone_expression, ...)                                                                     \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name(T* p, typename weir_host::same<T>::type v) {                                              \
    __VA_ARGS__                                                                                                       \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name##_block(T* p, typename weir_host::same<T>::type v) {                                      \
    return name(p, v);                                                                                                \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name##_system(T* p, typename weir_host::same<T>::type v) {                                     \
    return name(p, v);                                                                                                \
  }                                                                                                                   \
  namespace weir_host {                                                                                               \
  namespace alone {                                                                                                   \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name(T* p, typename same<T>::type v) {                                                         \
    const T old = *p;                                                                                                 \
    *p = (T)(alone_expression);                                                                                       \
    return old;                                                                                                       \
  }                                                                                                                   \
  }                                                                                                                   \
  }
WEIR_ATOMIC(atomicAdd, old + v, return weir_host::atomic_sum<T>::add(p, v);)
WEIR_ATOMIC(atomicSub, old - v, return weir_host::atomic_sum<T>::sub(p, v);)
WEIR_ATOMIC(atomicExch, v, T old; __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED); return old;)
WEIR_ATOMIC(atomicMin, v < old ? v : old, return weir_host::atomic_update(p, [v](T old) { return v < old ? v : old; });)
WEIR_ATOMIC(atomicMax, old < v ? v : old, return weir_host::atomic_update(p, [v](T old) { return old < v ? v : old; });)
WEIR_ATOMIC(atomicInc, old >= v ? T(0) : T(old + 1),
            return weir_host::atomic_update(p, [v](T old) { return old >= v ? T(0) : T(old + 1); });)
WEIR_ATOMIC(atomicDec, old == T(0) || old > v ? v : T(old - 1),
            return weir_host::atomic_update(p, [v](T old) { return old == T(0) || old > v ? v : T(old - 1); });)
WEIR_ATOMIC(atomicAnd, old & v, return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);)
WEIR_ATOMIC(atomicOr, old | v, return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);)
WEIR_ATOMIC(atomicXor, old ^ v, return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);)
#undef WEIR_ATOMIC

template <class T>
WEIR_ALWAYS_INLINE T atomicCAS(T* p, typename weir_host::same<T>::type compare, typename weir_host::same<T>::type v) {
  __atomic_compare_exchange(p, &compare, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
template <class T>
WEIR_ALWAYS_INLINE T atomicCAS_block(T* p, typename weir_host::same<T>::type compare, typename weir_host::same<T>::type v) {
  return atomicCAS(p, compare, v);
}
template <class T>
WEIR_ALWAYS_INLINE T atomicCAS_system(T* p, typename weir_host::same<T>::type compare, typename weir_host::same<T>::type v) {
  return atomicCAS(p, compare, v);
}
namespace weir_host {
namespace alone {
template <class T>
WEIR_ALWAYS_INLINE T atomicCAS(T* p, typename same<T>::type compare, typename same<T>::type v) {
  const T old = *p;
  if (old == compare) *p = v;
  return old;
}
}  // namespace alone
}  // namespace weir_host
)weir";

}  // namespace weir::kernels
