// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Atomic functions that a GPU has instructions for, in place of those of kernels/runtime_atomics.hpp. Many threads may
/// execute atomicInc on one word, so a loop of compare-and-swap would be slow.
namespace weir::kernels {

inline constexpr std::string_view nvidia_atomics = R"weir(
WEIR_ALWAYS_INLINE unsigned int atomicInc(unsigned int* p, unsigned int v) { return __nvvm_atom_inc_gen_ui(p, v); }
WEIR_ALWAYS_INLINE unsigned int atomicDec(unsigned int* p, unsigned int v) { return __nvvm_atom_dec_gen_ui(p, v); }
// LLVM's own operations are atomic among the threads of one GPU.
#define WEIR_SCOPED(name, function, T, as)                                                                            \
  WEIR_ALWAYS_INLINE T name##_system(T* p, T v) { return (T)__nvvm_atom_sys_##function((as*)p, (as)v); }              \
  WEIR_ALWAYS_INLINE T name##_block(T* p, T v) { return (T)__nvvm_atom_cta_##function((as*)p, (as)v); }
#define WEIR_SCOPED_BITS(name, function)                                                                              \
  WEIR_SCOPED(name, function##_gen_i, int, int) WEIR_SCOPED(name, function##_gen_i, unsigned int, int)                \
  WEIR_SCOPED(name, function##_gen_ll, unsigned long long, long long)
#define WEIR_SCOPED_ORDER(name, function)                                                                             \
  WEIR_SCOPED(name, function##_gen_i, int, int) WEIR_SCOPED(name, function##_gen_ui, unsigned int, unsigned int)      \
  WEIR_SCOPED(name, function##_gen_ll, long long, long long)                                                          \
  WEIR_SCOPED(name, function##_gen_ull, unsigned long long, unsigned long long)
WEIR_SCOPED_BITS(atomicAdd, add) WEIR_SCOPED_BITS(atomicExch, xchg) WEIR_SCOPED_BITS(atomicAnd, and)
WEIR_SCOPED_BITS(atomicOr, or) WEIR_SCOPED_BITS(atomicXor, xor)
WEIR_SCOPED(atomicAdd, add_gen_f, float, float) WEIR_SCOPED(atomicAdd, add_gen_d, double, double)
WEIR_SCOPED_ORDER(atomicMin, min) WEIR_SCOPED_ORDER(atomicMax, max)
WEIR_SCOPED(atomicInc, inc_gen_ui, unsigned int, unsigned int)
WEIR_SCOPED(atomicDec, dec_gen_ui, unsigned int, unsigned int)
#undef WEIR_SCOPED_ORDER
#undef WEIR_SCOPED_BITS
#undef WEIR_SCOPED
#define WEIR_SCOPED_CAS(scope, function, T, kind, as)                                                                 \
  WEIR_ALWAYS_INLINE T atomicCAS_##scope(T* p, T compare, T v) {                                                      \
    return (T)__nvvm_atom_##function##_cas_gen_##kind((as*)p, (as)compare, (as)v);                                    \
  }
#define WEIR_SCOPED_REST(scope, function)                                                                             \
  WEIR_ALWAYS_INLINE int atomicSub_##scope(int* p, int v) { return atomicAdd_##scope(p, (int)(0U - (unsigned int)v)); } \
  WEIR_ALWAYS_INLINE unsigned int atomicSub_##scope(unsigned int* p, unsigned int v) {                                \
    return atomicAdd_##scope(p, 0 - v);                                                                               \
  }                                                                                                                   \
  WEIR_SCOPED_CAS(scope, function, int, i, int) WEIR_SCOPED_CAS(scope, function, unsigned int, i, int)                \
  WEIR_SCOPED_CAS(scope, function, unsigned long long, ll, long long)
WEIR_SCOPED_REST(system, sys)
WEIR_SCOPED_REST(block, cta)
#undef WEIR_SCOPED_REST
#undef WEIR_SCOPED_CAS
)weir";

inline constexpr std::string_view amd_atomics = R"weir(
WEIR_ALWAYS_INLINE unsigned int atomicInc(unsigned int* p, unsigned int v) {
  return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "agent");
}
WEIR_ALWAYS_INLINE unsigned int atomicDec(unsigned int* p, unsigned int v) {
  return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "agent");
}
WEIR_ALWAYS_INLINE unsigned int atomicInc_system(unsigned int* p, unsigned int v) {
  return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "");
}
WEIR_ALWAYS_INLINE unsigned int atomicDec_system(unsigned int* p, unsigned int v) {
  return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "");
}
// Clang's own atomic functions have the scope of the device in HIP.
#define WEIR_SCOPED(name, function, T)                                                                                \
  WEIR_ALWAYS_INLINE T name##_system(T* p, T v) {                                                                     \
    return __hip_atomic_##function(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);                                \
  }
#define WEIR_SCOPED_BITS(name, function)                                                                              \
  WEIR_SCOPED(name, function, int) WEIR_SCOPED(name, function, unsigned int) WEIR_SCOPED(name, function, long)        \
  WEIR_SCOPED(name, function, unsigned long) WEIR_SCOPED(name, function, long long)                                   \
  WEIR_SCOPED(name, function, unsigned long long)
WEIR_SCOPED_BITS(atomicAdd, fetch_add) WEIR_SCOPED_BITS(atomicExch, exchange) WEIR_SCOPED_BITS(atomicAnd, fetch_and)
WEIR_SCOPED_BITS(atomicOr, fetch_or) WEIR_SCOPED_BITS(atomicXor, fetch_xor) WEIR_SCOPED_BITS(atomicMin, fetch_min)
WEIR_SCOPED_BITS(atomicMax, fetch_max) WEIR_SCOPED(atomicAdd, fetch_add, float) WEIR_SCOPED(atomicAdd, fetch_add, double)
WEIR_SCOPED(atomicExch, exchange, float) WEIR_SCOPED(atomicExch, exchange, double)
#undef WEIR_SCOPED_BITS
#undef WEIR_SCOPED
#define WEIR_SCOPED_REST(T)                                                                                           \
  WEIR_ALWAYS_INLINE T atomicSub_system(T* p, T v) { return atomicAdd_system(p, (T)(0ULL - (unsigned long long)v)); } \
  WEIR_ALWAYS_INLINE T atomicCAS_system(T* p, T compare, T v) {                                                       \
    __hip_atomic_compare_exchange_strong(p, &compare, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);\
    return compare;                                                                                                   \
  }
WEIR_SCOPED_REST(int) WEIR_SCOPED_REST(unsigned int) WEIR_SCOPED_REST(long)
WEIR_SCOPED_REST(unsigned long) WEIR_SCOPED_REST(long long) WEIR_SCOPED_REST(unsigned long long)
#undef WEIR_SCOPED_REST
)weir";

}  // namespace weir::kernels
