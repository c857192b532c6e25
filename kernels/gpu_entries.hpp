// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Defines the entries (kernels/device_entries.hpp) and the part of the device library that differs between GPUs, for
/// kernels that Clang compiles for a GPU without the vendor's headers. They use Clang's builtins for that GPU. A function
/// that a GPU lacks stays undefined, so that compilation fails and names the function.
namespace weir::kernels {

inline constexpr std::string_view nvidia_entries = R"weir(
// Clang has a builtin function of this name.
#define __syncthreads weir_syncthreads
#define WEIR_AXIS(name) \
  axis == 0 ? __nvvm_read_ptx_sreg_##name##_x() : axis == 1 ? __nvvm_read_ptx_sreg_##name##_y() \
                                                : __nvvm_read_ptx_sreg_##name##_z()
extern "C" {
WEIR_ENTRY unsigned int __weir_tid(int axis) noexcept { return WEIR_AXIS(tid); }
WEIR_ENTRY unsigned int __weir_ctaid(int axis) noexcept { return WEIR_AXIS(ctaid); }
WEIR_ENTRY unsigned int __weir_ntid(int axis) noexcept { return WEIR_AXIS(ntid); }
WEIR_ENTRY unsigned int __weir_nctaid(int axis) noexcept { return WEIR_AXIS(nctaid); }
WEIR_ENTRY int __weir_lane() noexcept { return (int)__nvvm_read_ptx_sreg_laneid(); }
WEIR_ENTRY bool __weir_is_shared(const void* p) noexcept { return __nvvm_isspacep_shared(p); }
WEIR_ENTRY bool __weir_is_local(const void* p) noexcept { return __nvvm_isspacep_local(p); }
WEIR_ENTRY void __weir_barrier() noexcept { __nvvm_bar_sync(0); }
WEIR_ENTRY int __weir_barrier_count(int predicate) noexcept { return __nvvm_bar0_popc(predicate); }
WEIR_ENTRY unsigned long long __weir_active() noexcept {
  unsigned int mask;
  __asm__ volatile("activemask.b32 %0;" : "=r"(mask));
  return mask;
}
WEIR_ENTRY unsigned int weir_named_lanes(unsigned long long mask) noexcept {
  return (unsigned int)(mask != 0 ? mask : __weir_active());
}
WEIR_ENTRY void __weir_warp_barrier(unsigned long long mask) noexcept { __nvvm_bar_warp_sync(weir_named_lanes(mask)); }
WEIR_ENTRY unsigned long long __weir_ballot(unsigned long long mask, int predicate) noexcept {
  return __nvvm_vote_ballot_sync(weir_named_lanes(mask), predicate != 0);
}
WEIR_ENTRY unsigned int __weir_shuffle32(unsigned long long mask, unsigned int value, int source_lane) noexcept {
  const int lane = (unsigned int)source_lane < 32 ? source_lane : __weir_lane();
  return (unsigned int)__nvvm_shfl_sync_idx_i32(weir_named_lanes(mask), (int)value, lane, 0x1f);
}
}
#undef WEIR_AXIS
#define WEIR_CLOCK __nvvm_read_ptx_sreg_clock64()
#define WEIR_FENCE_BLOCK __nvvm_membar_cta()
#define WEIR_FENCE_DEVICE __nvvm_membar_gl()
#define WEIR_FENCE_SYSTEM __nvvm_membar_sys()
)weir";

inline constexpr std::string_view amd_entries = R"weir(
#define WEIR_AXIS(name) \
  axis == 0 ? __builtin_amdgcn_##name##_x() : axis == 1 ? __builtin_amdgcn_##name##_y() : __builtin_amdgcn_##name##_z()
#define WEIR_FLAT(p) (const __attribute__((address_space(0))) void*)p
extern "C" {
WEIR_ENTRY unsigned int __weir_tid(int axis) noexcept { return WEIR_AXIS(workitem_id); }
WEIR_ENTRY unsigned int __weir_ctaid(int axis) noexcept { return WEIR_AXIS(workgroup_id); }
WEIR_ENTRY unsigned int __weir_ntid(int axis) noexcept { return WEIR_AXIS(workgroup_size); }
WEIR_ENTRY unsigned int __weir_nctaid(int axis) noexcept { return (WEIR_AXIS(grid_size)) / __weir_ntid(axis); }
WEIR_ENTRY int __weir_lane() noexcept {
  const unsigned int low = __builtin_amdgcn_mbcnt_lo(~0u, 0);
  return (int)(warpSize == 64 ? __builtin_amdgcn_mbcnt_hi(~0u, low) : low);
}
WEIR_ENTRY bool __weir_is_shared(const void* p) noexcept { return __builtin_amdgcn_is_shared(WEIR_FLAT(p)); }
WEIR_ENTRY bool __weir_is_local(const void* p) noexcept { return __builtin_amdgcn_is_private(WEIR_FLAT(p)); }
WEIR_ENTRY void __weir_barrier() noexcept {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
WEIR_ENTRY int __weir_barrier_count(int predicate) noexcept {
  static __attribute__((shared)) int count;
  if ((__weir_tid(0) | __weir_tid(1) | __weir_tid(2)) == 0) count = 0;
  __weir_barrier();
  if (predicate != 0) __hip_atomic_fetch_add(&count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __weir_barrier();
  const int result = count;
  __weir_barrier();
  return result;
}
WEIR_ENTRY unsigned long long __weir_active() noexcept { return __builtin_amdgcn_read_exec(); }
WEIR_ENTRY void __weir_warp_barrier(unsigned long long) noexcept {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
WEIR_ENTRY unsigned long long __weir_ballot(unsigned long long mask, int predicate) noexcept {
#if WEIR_WARP_SIZE == 64
  const unsigned long long lanes = __builtin_amdgcn_ballot_w64(predicate != 0);
#else
  const unsigned long long lanes = __builtin_amdgcn_ballot_w32(predicate != 0);
#endif
  return mask != 0 ? lanes & mask : lanes;
}
WEIR_ENTRY unsigned int __weir_shuffle32(unsigned long long, unsigned int value, int source_lane) noexcept {
  const int lane = (unsigned int)source_lane < (unsigned int)warpSize ? source_lane : __weir_lane();
  return (unsigned int)__builtin_amdgcn_ds_bpermute(lane * 4, (int)value);
}
}
#undef WEIR_AXIS
#undef WEIR_FLAT
#define WEIR_CLOCK __builtin_readcyclecounter()
#define WEIR_FENCE_BLOCK __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup")
#define WEIR_FENCE_DEVICE __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define WEIR_FENCE_SYSTEM __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "")
// The scope of atomic functions is the device, as in CUDA and HIP.
#define WEIR_SCOPE __HIP_MEMORY_SCOPE_AGENT
#define __atomic_fetch_add(p, v, order) __hip_atomic_fetch_add(p, v, order, WEIR_SCOPE)
#define __atomic_fetch_sub(p, v, order) __hip_atomic_fetch_add(p, -(v), order, WEIR_SCOPE)
#define __atomic_fetch_min(p, v, order) __hip_atomic_fetch_min(p, v, order, WEIR_SCOPE)
#define __atomic_fetch_max(p, v, order) __hip_atomic_fetch_max(p, v, order, WEIR_SCOPE)
#define __atomic_fetch_and(p, v, order) __hip_atomic_fetch_and(p, v, order, WEIR_SCOPE)
#define __atomic_fetch_or(p, v, order) __hip_atomic_fetch_or(p, v, order, WEIR_SCOPE)
#define __atomic_fetch_xor(p, v, order) __hip_atomic_fetch_xor(p, v, order, WEIR_SCOPE)
#define __atomic_load(p, result, order) (void)(*(result) = __hip_atomic_load(p, order, WEIR_SCOPE))
#define __atomic_exchange(p, v, result, order) (void)(*(result) = __hip_atomic_exchange(p, *(v), order, WEIR_SCOPE))
#define __atomic_compare_exchange(p, expected, desired, weak, success, failure) \
  __hip_atomic_compare_exchange_strong(p, expected, *(desired), success, failure, WEIR_SCOPE)
)weir";

/// Functions for both vendors, which use those above.
inline constexpr std::string_view gpu_entries = R"weir(
// The address 0 of shared memory; a constant would become a null pointer, which has another value on AMD's GPUs.
extern "C" WEIR_ENTRY char* __weir_shared() noexcept {
  size_t begin = 0;
  __asm__("" : "+r"(begin));
  return (char*)(__attribute__((address_space(3))) char*)begin;
}
extern "C" WEIR_ENTRY unsigned long long __weir_shuffle64(unsigned long long mask, unsigned long long value,
                                                          int source_lane) noexcept {
  return (unsigned long long)__weir_shuffle32(mask, (unsigned int)(value >> 32), source_lane) << 32 |
         __weir_shuffle32(mask, (unsigned int)value, source_lane);
}
WEIR_ENTRY long long clock64() { return (long long)WEIR_CLOCK; }
typedef long clock_t;
extern "C" WEIR_ENTRY clock_t clock() noexcept { return clock64(); }
WEIR_ENTRY void __nanosleep(unsigned int) {}
WEIR_ENTRY void __threadfence_block() { WEIR_FENCE_BLOCK; }
WEIR_ENTRY void __threadfence() { WEIR_FENCE_DEVICE; }
WEIR_ENTRY void __threadfence_system() { WEIR_FENCE_SYSTEM; }
)weir";

}  // namespace weir::kernels
