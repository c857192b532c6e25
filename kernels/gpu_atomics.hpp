// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Atomic functions that a GPU has instructions for, in place of those of kernels/runtime_atomics.hpp. Many threads may
/// execute atomicInc on one word, so a loop of compare-and-swap would be slow.
namespace weir::kernels {

inline constexpr std::string_view nvidia_atomics = R"weir(
WEIR_ALWAYS_INLINE unsigned int atomicInc(unsigned int* p, unsigned int v) { return __nvvm_atom_inc_gen_ui(p, v); }
WEIR_ALWAYS_INLINE unsigned int atomicDec(unsigned int* p, unsigned int v) { return __nvvm_atom_dec_gen_ui(p, v); }
// LLVM's own operations are atomic among the threads of one GPU only.
#define WEIR_OF_SYSTEM(name, function, T, as)                                                                         \
  WEIR_ALWAYS_INLINE T name##_system(T* p, T v) { return (T)__nvvm_atom_sys_##function((as*)p, (as)v); }
#define WEIR_OF_SYSTEM_BITS(name, function)                                                                           \
  WEIR_OF_SYSTEM(name, function##_gen_i, int, int) WEIR_OF_SYSTEM(name, function##_gen_i, unsigned int, int)          \
  WEIR_OF_SYSTEM(name, function##_gen_ll, unsigned long long, long long)
#define WEIR_OF_SYSTEM_ORDER(name, function)                                                                          \
  WEIR_OF_SYSTEM(name, function##_gen_i, int, int) WEIR_OF_SYSTEM(name, function##_gen_ui, unsigned int, unsigned int) \
  WEIR_OF_SYSTEM(name, function##_gen_ll, long long, long long)                                                       \
  WEIR_OF_SYSTEM(name, function##_gen_ull, unsigned long long, unsigned long long)
WEIR_OF_SYSTEM_BITS(atomicAdd, add) WEIR_OF_SYSTEM_BITS(atomicExch, xchg) WEIR_OF_SYSTEM_BITS(atomicAnd, and)
WEIR_OF_SYSTEM_BITS(atomicOr, or) WEIR_OF_SYSTEM_BITS(atomicXor, xor)
WEIR_OF_SYSTEM(atomicAdd, add_gen_f, float, float) WEIR_OF_SYSTEM(atomicAdd, add_gen_d, double, double)
WEIR_OF_SYSTEM_ORDER(atomicMin, min) WEIR_OF_SYSTEM_ORDER(atomicMax, max)
WEIR_OF_SYSTEM(atomicInc, inc_gen_ui, unsigned int, unsigned int)
WEIR_OF_SYSTEM(atomicDec, dec_gen_ui, unsigned int, unsigned int)
#undef WEIR_OF_SYSTEM_ORDER
#undef WEIR_OF_SYSTEM_BITS
#undef WEIR_OF_SYSTEM
WEIR_ALWAYS_INLINE int atomicSub_system(int* p, int v) { return atomicAdd_system(p, (int)(0U - (unsigned int)v)); }
WEIR_ALWAYS_INLINE unsigned int atomicSub_system(unsigned int* p, unsigned int v) { return atomicAdd_system(p, 0 - v); }
#define WEIR_OF_SYSTEM_CAS(T, kind, as)                                                                               \
  WEIR_ALWAYS_INLINE T atomicCAS_system(T* p, T compare, T v) {                                                       \
    return (T)__nvvm_atom_sys_cas_gen_##kind((as*)p, (as)compare, (as)v);                                             \
  }
WEIR_OF_SYSTEM_CAS(int, i, int) WEIR_OF_SYSTEM_CAS(unsigned int, i, int)
WEIR_OF_SYSTEM_CAS(unsigned long long, ll, long long)
#undef WEIR_OF_SYSTEM_CAS
)weir";

inline constexpr std::string_view amd_atomics = R"weir(
WEIR_ALWAYS_INLINE unsigned int atomicInc(unsigned int* p, unsigned int v) {
  return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "agent");
}
WEIR_ALWAYS_INLINE unsigned int atomicDec(unsigned int* p, unsigned int v) {
  return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "agent");
}
)weir";

}  // namespace weir::kernels
