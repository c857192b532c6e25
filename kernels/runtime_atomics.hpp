// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Atomic functions for kernels that Clang or GCC compiles. On the CPU the blocks of a launch run on several workers at the
/// same time, so these functions use the processor's atomic operations. As on a GPU, they order no other memory access. A
/// thread that calls one repeatedly may be waiting for another thread of its block, so WEIR_SPIN lets that thread run.
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
template <class T, bool whole = atomic_rules<T>::whole>
struct atomic_order {
  static WEIR_ALWAYS_INLINE T least(T* p, T v) { return atomic_update(p, [v](T old) { return v < old ? v : old; }); }
  static WEIR_ALWAYS_INLINE T greatest(T* p, T v) { return atomic_update(p, [v](T old) { return old < v ? v : old; }); }
};
// In Clang each of these is one instruction of LLVM's IR, and not a loop in which threads might wait for each other.
#ifdef __clang__
template <class T>
struct atomic_order<T, true> {
  static WEIR_ALWAYS_INLINE T least(T* p, T v) { return __atomic_fetch_min(p, v, __ATOMIC_RELAXED); }
  static WEIR_ALWAYS_INLINE T greatest(T* p, T v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }
};
#else
template <class T>
struct atomic_sum<T, false> {
  static WEIR_ALWAYS_INLINE T add(T* p, T v) { return atomic_update(p, [v](T old) { return old + v; }); }
  static WEIR_ALWAYS_INLINE T sub(T* p, T v) { return atomic_update(p, [v](T old) { return old - v; }); }
};
#endif
}  // namespace weir_host

#ifdef __AMDGCN__  // where these have the scope of the device; gpu_atomics.hpp has those of the system
#define WEIR_SYSTEM_SCOPE static_assert(sizeof(T) == 0, "no atomic function of system scope for this type on AMD's GPUs");
#else
#define WEIR_SYSTEM_SCOPE
#endif
#define WEIR_ATOMIC(name, ...)                                                                     \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name(T* p, typename weir_host::same<T>::type v) {                                              \
    WEIR_SPIN();                                                                                                      \
    __VA_ARGS__                                                                                                       \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name##_block(T* p, typename weir_host::same<T>::type v) {                                      \
    return name(p, v);                                                                                                \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  WEIR_ALWAYS_INLINE T name##_system(T* p, typename weir_host::same<T>::type v) {                                     \
    WEIR_SYSTEM_SCOPE                                                                                                 \
    return name(p, v);                                                                                                \
  }
WEIR_ATOMIC(atomicAdd, return weir_host::atomic_sum<T>::add(p, v);)
WEIR_ATOMIC(atomicSub, return weir_host::atomic_sum<T>::sub(p, v);)
WEIR_ATOMIC(atomicExch, T old; __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED); return old;)
WEIR_ATOMIC(atomicMin, return weir_host::atomic_order<T>::least(p, v);)
WEIR_ATOMIC(atomicMax, return weir_host::atomic_order<T>::greatest(p, v);)
WEIR_ATOMIC(atomicInc,
            return weir_host::atomic_update(p, [v](T old) { return old >= v ? T(0) : T(old + 1); });)
WEIR_ATOMIC(atomicDec,
            return weir_host::atomic_update(p, [v](T old) { return old == T(0) || old > v ? v : T(old - 1); });)
WEIR_ATOMIC(atomicAnd, return __atomic_fetch_and(p, v, __ATOMIC_RELAXED);)
WEIR_ATOMIC(atomicOr, return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);)
WEIR_ATOMIC(atomicXor, return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);)
#undef WEIR_ATOMIC

template <class T>
WEIR_ALWAYS_INLINE T atomicCAS(T* p, typename weir_host::same<T>::type compare, typename weir_host::same<T>::type v) {
  WEIR_SPIN();
  __atomic_compare_exchange(p, &compare, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
}
template <class T>
WEIR_ALWAYS_INLINE T atomicCAS_block(T* p, typename weir_host::same<T>::type compare, typename weir_host::same<T>::type v) {
  return atomicCAS(p, compare, v);
}
template <class T>
WEIR_ALWAYS_INLINE T atomicCAS_system(T* p, typename weir_host::same<T>::type compare, typename weir_host::same<T>::type v) {
  WEIR_SYSTEM_SCOPE
  return atomicCAS(p, compare, v);
}
#undef WEIR_SYSTEM_SCOPE
)weir";

}  // namespace weir::kernels
