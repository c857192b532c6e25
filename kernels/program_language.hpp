// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Parts of CUDA's language that only whole programs need (cudart/device_header.cpp): kernels alone are compiled by NVRTC
/// and HIPRTC, too, which have them or lack them.
namespace weir::kernels {

/// The overloads for float that <cmath> does not have.
inline constexpr std::string_view overloads = R"weir(
#define WEIR_OVERLOAD(name) \
  WEIR_BOTH inline __attribute__((always_inline)) float name(float x) { return name##f(x); }
WEIR_OVERLOAD(exp10) WEIR_OVERLOAD(sinpi) WEIR_OVERLOAD(cospi) WEIR_OVERLOAD(rcbrt) WEIR_OVERLOAD(erfinv)
WEIR_OVERLOAD(erfcinv) WEIR_OVERLOAD(erfcx) WEIR_OVERLOAD(normcdf) WEIR_OVERLOAD(normcdfinv) WEIR_OVERLOAD(j0)
WEIR_OVERLOAD(j1) WEIR_OVERLOAD(y0) WEIR_OVERLOAD(y1) WEIR_OVERLOAD(cyl_bessel_i0) WEIR_OVERLOAD(cyl_bessel_i1)
#undef WEIR_OVERLOAD
WEIR_BOTH inline float jn(int n, float x) { return jnf(n, x); }
WEIR_BOTH inline float yn(int n, float x) { return ynf(n, x); }
WEIR_BOTH inline void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
WEIR_BOTH inline void sincospi(float x, float* s, float* c) { sincospif(x, s, c); }
)weir";

/// The barrier of a cooperative launch's blocks. NVIDIA's driver gives such a launch a word of memory, whose address it
/// passes in two registers; its highest bit changes when all blocks have added what they add to it.
inline constexpr std::string_view nvidia_grid = R"weir(
extern "C" WEIR_ENTRY void __weir_grid_barrier() noexcept {
  unsigned int high, low;
  __asm__("mov.u32 %0, %%envreg1;" : "=r"(high));
  __asm__("mov.u32 %0, %%envreg2;" : "=r"(low));
  unsigned int* const word = (unsigned int*)((unsigned long long)high << 32 | low) + 1;
  __weir_barrier();
  if ((__weir_tid(0) | __weir_tid(1) | __weir_tid(2)) == 0) {
    if ((high | low) == 0) __builtin_trap();  // no cooperative launch
    const unsigned int blocks = __weir_nctaid(0) * __weir_nctaid(1) * __weir_nctaid(2);
    const bool first = (__weir_ctaid(0) | __weir_ctaid(1) | __weir_ctaid(2)) == 0;
    __nvvm_membar_gl();
    const unsigned int old = __atomic_fetch_add(word, first ? 0x80000000u - (blocks - 1) : 1u, __ATOMIC_RELAXED);
    while (((old ^ *(volatile unsigned int*)word) >> 31) == 0) {
    }
    __nvvm_membar_gl();
  }
  __weir_barrier();
}
)weir";

inline constexpr std::string_view amd_grid = R"weir(
extern "C" WEIR_DEVICE void __ockl_grid_sync();
extern "C" WEIR_ENTRY void __weir_grid_barrier() noexcept { __ockl_grid_sync(); }
)weir";

/// CUDA's functions for dynamic programming (DPX): sums, the greatest and the least of numbers of 32 bits or of pairs of 16
/// bits.
inline constexpr std::string_view dynamic_programming = R"weir(
#define WEIR_DPX WEIR_BOTH static inline __attribute__((always_inline, unused))
namespace weir_host {
template <class T>
WEIR_DPX T wrapped_sum(T x, T y) { return (T)((unsigned int)x + (unsigned int)y); }
template <class T>
WEIR_DPX T greater_of(T x, T y) { return x < y ? y : x; }
template <class T>
WEIR_DPX T less_of(T x, T y) { return y < x ? y : x; }
}  // namespace weir_host
#define WEIR_DPX_3(name, letter, end, word, half, expression)                                         \
  WEIR_DPX word name##_##letter##32##end(word x, word y, word z) {                                    \
    using namespace weir_host;                                                                        \
    (void)z;                                                                                          \
    return expression;                                                                                \
  }                                                                                                   \
  WEIR_DPX unsigned int name##_##letter##16x2##end(unsigned int a, unsigned int b, unsigned int c) {  \
    using namespace weir_host;                                                                        \
    unsigned int result = 0;                                                                          \
    for (int i = 0; i < 32; i += 16) {                                                                \
      const half x = (half)(a >> i), y = (half)(b >> i), z = (half)(c >> i);                          \
      (void)z;                                                                                        \
      result |= (unsigned int)(unsigned short)(expression) << i;                                      \
    }                                                                                                 \
    return result;                                                                                    \
  }
#define WEIR_DPX_BOTH(name, expression)                                                               \
  WEIR_DPX_3(name, s, , int, short, expression)                                                       \
  WEIR_DPX_3(name, u, , unsigned int, unsigned short, expression)                                     \
  WEIR_DPX_3(name, s, _relu, int, short, greater_of(expression, decltype(x)(0)))
WEIR_DPX_BOTH(__viaddmax, greater_of(wrapped_sum(x, y), z))
WEIR_DPX_BOTH(__viaddmin, less_of(wrapped_sum(x, y), z))
WEIR_DPX_BOTH(__vimax3, greater_of(greater_of(x, y), z))
WEIR_DPX_BOTH(__vimin3, less_of(less_of(x, y), z))
#undef WEIR_DPX_BOTH
#undef WEIR_DPX_3
#define WEIR_DPX_2(name, three, letter, end, word)                                                    \
  WEIR_DPX word name##_##letter##32##end(word x, word y) { return three##_##letter##32##end(x, y, y); } \
  WEIR_DPX unsigned int name##_##letter##16x2##end(unsigned int a, unsigned int b) {                  \
    return three##_##letter##16x2##end(a, b, b);                                                      \
  }
WEIR_DPX_2(__vimax, __vimax3, s, _relu, int)
WEIR_DPX_2(__vimin, __vimin3, s, _relu, int)
#undef WEIR_DPX_2
// Also tell whether the first number is the result.
#define WEIR_DPX_CHOICE(name, letter, word, half, op)                                                 \
  WEIR_DPX word name##_##letter##32(word x, word y, bool* first) { return (*first = x op y) ? x : y; } \
  WEIR_DPX unsigned int name##_##letter##16x2(unsigned int a, unsigned int b, bool* high, bool* low) { \
    *high = (half)(a >> 16) op (half)(b >> 16);                                                       \
    *low = (half)a op (half)b;                                                                        \
    return ((*high ? a : b) & 0xffff0000u) | ((*low ? a : b) & 0xffffu);                              \
  }
WEIR_DPX_CHOICE(__vibmax, s, int, short, >=)
WEIR_DPX_CHOICE(__vibmax, u, unsigned int, unsigned short, >=)
WEIR_DPX_CHOICE(__vibmin, s, int, short, <=)
WEIR_DPX_CHOICE(__vibmin, u, unsigned int, unsigned short, <=)
#undef WEIR_DPX_CHOICE
#undef WEIR_DPX
)weir";

/// The functions of CUDA 12.8 for atomic accesses with an order. The scope is always the system.
inline constexpr std::string_view ordered_atomics = R"weir(
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4
#define __nv_atomic_load_n(p, order, ...) __atomic_load_n(p, order)
#define __nv_atomic_store_n(p, value, order, ...) __atomic_store_n(p, value, order)
#define __nv_atomic_exchange_n(p, value, order, ...) __atomic_exchange_n(p, value, order)
#define __nv_atomic_compare_exchange_n(p, expected, value, weak, success, failure, ...) \
  __atomic_compare_exchange_n(p, expected, value, weak, success, failure)
#define __nv_atomic_fetch_add(p, value, order, ...) __atomic_fetch_add(p, value, order)
#define __nv_atomic_fetch_sub(p, value, order, ...) __atomic_fetch_sub(p, value, order)
#define __nv_atomic_fetch_and(p, value, order, ...) __atomic_fetch_and(p, value, order)
#define __nv_atomic_fetch_or(p, value, order, ...) __atomic_fetch_or(p, value, order)
#define __nv_atomic_fetch_xor(p, value, order, ...) __atomic_fetch_xor(p, value, order)
#define __nv_atomic_fetch_min(p, value, order, ...) __atomic_fetch_min(p, value, order)
#define __nv_atomic_fetch_max(p, value, order, ...) __atomic_fetch_max(p, value, order)
#define __nv_atomic_thread_fence(order, ...) __atomic_thread_fence(order)
)weir";

/// CUDA's conversions of numbers of 8 bits, and the types of two and four of them.
inline constexpr std::string_view fp8_conversions = R"weir(
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
#define WEIR_FP8 WEIR_BOTH static inline __attribute__((always_inline, unused))
WEIR_FP8 __nv_fp8_storage_t __nv_cvt_float_to_fp8(float __x, __nv_saturation_t __s, __nv_fp8_interpretation_t __i) {
  const __nv_fp8_storage_t __code = __i == __NV_E4M3 ? __nv_fp8_e4m3(__x).__x : __nv_fp8_e5m2(__x).__x;
  if (__s == __NV_SATFINITE || __x != __x) return __code;
  // Greater than the number in the middle between the greatest one and the next.
  const float __size = __builtin_fabsf(__x);
  if (__i == __NV_E4M3) return __size > 464.0f ? (__code & 0x80) | 0x7f : __code;
  return __size >= 61440.0f ? (__code & 0x80) | 0x7c : __code;
}
WEIR_FP8 __nv_fp8_storage_t __nv_cvt_double_to_fp8(double __x, __nv_saturation_t __s, __nv_fp8_interpretation_t __i) {
  return __nv_cvt_float_to_fp8(weir_narrow::__odd(__x), __s, __i);
}
WEIR_FP8 __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw __x, __nv_saturation_t __s, __nv_fp8_interpretation_t __i) {
  return __nv_cvt_float_to_fp8((float)__half(__x), __s, __i);
}
WEIR_FP8 __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw __x, __nv_saturation_t __s,
                                                        __nv_fp8_interpretation_t __i) {
  return __nv_cvt_float_to_fp8((float)__nv_bfloat16(__x), __s, __i);
}
WEIR_FP8 __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t __x, __nv_fp8_interpretation_t __i) {
  __nv_fp8_e4m3 __a;
  __nv_fp8_e5m2 __b;
  __a.__x = __b.__x = __x;
  return (__half_raw)__half(__i == __NV_E4M3 ? (float)__a : (float)__b);
}
WEIR_FP8 __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 __x, __nv_saturation_t __s, __nv_fp8_interpretation_t __i) {
  return (__nv_fp8x2_storage_t)(__nv_cvt_float_to_fp8(__x.x, __s, __i) | __nv_cvt_float_to_fp8(__x.y, __s, __i) << 8);
}
#define WEIR_FP8_TYPES_OF(one, two, four, i)                                                                       \
  struct __attribute__((aligned(2))) two {                                                                         \
    __nv_fp8x2_storage_t __x;                                                                                      \
    two() = default;                                                                                               \
    WEIR_BOTH explicit two(float2 __v) : __x(__nv_cvt_float2_to_fp8x2(__v, __NV_SATFINITE, i)) {}                  \
    WEIR_BOTH explicit two(double2 __v) : two(make_float2(weir_narrow::__odd(__v.x), weir_narrow::__odd(__v.y))) {}\
    WEIR_BOTH explicit two(__half2 __v) : two(make_float2((float)__v.x, (float)__v.y)) {}                          \
    WEIR_BOTH explicit two(__nv_bfloat162 __v) : two(make_float2((float)__v.x, (float)__v.y)) {}                   \
    WEIR_BOTH explicit operator float2() const {                                                                   \
      one __a, __b;                                                                                                \
      __a.__x = (unsigned char)__x, __b.__x = (unsigned char)(__x >> 8);                                           \
      return make_float2((float)__a, (float)__b);                                                                  \
    }                                                                                                              \
  };                                                                                                               \
  struct __attribute__((aligned(4))) four {                                                                        \
    __nv_fp8x4_storage_t __x;                                                                                      \
    four() = default;                                                                                              \
    WEIR_BOTH explicit four(float4 __v)                                                                            \
        : __x(__nv_cvt_float2_to_fp8x2(make_float2(__v.x, __v.y), __NV_SATFINITE, i) |                             \
              (unsigned int)__nv_cvt_float2_to_fp8x2(make_float2(__v.z, __v.w), __NV_SATFINITE, i) << 16) {}       \
    WEIR_BOTH explicit four(__half2 __a, __half2 __b)                                                              \
        : four(make_float4((float)__a.x, (float)__a.y, (float)__b.x, (float)__b.y)) {}                             \
    WEIR_BOTH explicit four(__nv_bfloat162 __a, __nv_bfloat162 __b)                                                \
        : four(make_float4((float)__a.x, (float)__a.y, (float)__b.x, (float)__b.y)) {}                             \
    WEIR_BOTH explicit operator float4() const {                                                                   \
      two __a, __b;                                                                                                \
      __a.__x = (unsigned short)__x, __b.__x = (unsigned short)(__x >> 16);                                        \
      const float2 __low = (float2)__a, __high = (float2)__b;                                                      \
      return make_float4(__low.x, __low.y, __high.x, __high.y);                                                    \
    }                                                                                                              \
  };
WEIR_FP8_TYPES_OF(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
WEIR_FP8_TYPES_OF(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
#undef WEIR_FP8_TYPES_OF
#undef WEIR_FP8
)weir";

/// CUDA's built-in functions `new` and `delete` of device code.
inline constexpr std::string_view program_memory = R"weir(
#ifndef __CLANG_CUDA_WRAPPERS_NEW  // Clang's own <new> defines them for its CUDA mode
#define WEIR_NEW inline WEIR_DEVICE __attribute__((always_inline))
WEIR_NEW void* operator new(size_t weir_size) { return ::malloc(weir_size != 0 ? weir_size : 1); }
WEIR_NEW void* operator new[](size_t weir_size) { return ::malloc(weir_size != 0 ? weir_size : 1); }
WEIR_NEW void* operator new(size_t, void* weir_place) noexcept { return weir_place; }
WEIR_NEW void* operator new[](size_t, void* weir_place) noexcept { return weir_place; }
WEIR_NEW void operator delete(void* weir_memory) noexcept { ::free(weir_memory); }
WEIR_NEW void operator delete[](void* weir_memory) noexcept { ::free(weir_memory); }
WEIR_NEW void operator delete(void* weir_memory, size_t) noexcept { ::free(weir_memory); }
WEIR_NEW void operator delete[](void* weir_memory, size_t) noexcept { ::free(weir_memory); }
WEIR_NEW void operator delete(void*, void*) noexcept {}
WEIR_NEW void operator delete[](void*, void*) noexcept {}
#undef WEIR_NEW
#endif
)weir";

/// The text of `<cuda/barrier>`: barriers without a completion function. The last thread to arrive begins the next phase.
inline constexpr std::string_view barrier_header = R"weir(
#include <stddef.h>
namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
template <thread_scope weir_Scope>
class barrier {
 public:
  class arrival_token {
    friend class barrier;
    unsigned int weir_phase;
  };
  barrier() = default;
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  __device__ explicit barrier(ptrdiff_t expected) { init(this, expected); }
  friend __device__ inline void init(barrier* made, ptrdiff_t expected) {
    made->weir_phase = 0;
    made->weir_left = made->weir_expected = (unsigned int)expected;
  }
  static constexpr ptrdiff_t max() { return 0x7fffffff; }
  __device__ arrival_token arrive(ptrdiff_t count = 1) {
    arrival_token token;
    token.weir_phase = *(volatile unsigned int*)&weir_phase;
    weir_fence();
    if (atomicSub(&weir_left, (unsigned int)count) == (unsigned int)count) {
      weir_left = weir_expected;
      weir_fence();
      atomicAdd(&weir_phase, 1u);
    }
    return token;
  }
  __device__ void wait(arrival_token&& token) const { weir_wait_phase(token.weir_phase); }
  __device__ void weir_wait_phase(unsigned int phase) const {
    while (*(const volatile unsigned int*)&weir_phase == phase) __nanosleep(20);
    weir_fence();
  }
  __device__ void arrive_and_wait() { wait(arrive()); }
  __device__ void arrive_and_drop() {
    atomicSub(&weir_expected, 1u);
    arrive();
  }

 private:
  static __device__ void weir_fence() {
    if (weir_Scope == thread_scope_system) __threadfence_system();
    else if (weir_Scope == thread_scope_device) __threadfence();
    else __threadfence_block();
  }
  unsigned int weir_phase, weir_left, weir_expected;
};
// Copies, which are done at once.
template <size_t weir_N>
struct aligned_size_t {
  static constexpr size_t align = weir_N;
  size_t value;
  __host__ __device__ constexpr explicit aligned_size_t(size_t bytes) : value(bytes) {}
  __host__ __device__ constexpr operator size_t() const { return value; }
};
template <class weir_G, class weir_T>
__device__ void weir_copy(const weir_G& group, weir_T* to, const weir_T* from, size_t bytes) {
  for (size_t i = group.thread_rank(); i < bytes / sizeof(weir_T); i += group.size()) to[i] = from[i];
}
template <class weir_G>
__device__ void weir_copy(const weir_G& group, void* to, const void* from, size_t bytes) {
  weir_copy(group, (char*)to, (const char*)from, bytes);
}
template <class weir_T, class weir_S, thread_scope weir_Scope>
__device__ void memcpy_async(weir_T* to, const weir_T* from, weir_S bytes, barrier<weir_Scope>&) {
  __builtin_memcpy((void*)to, (const void*)from, bytes);
}
template <class weir_G, class weir_T, class weir_S, thread_scope weir_Scope>
__device__ void memcpy_async(const weir_G& group, weir_T* to, const weir_T* from, weir_S bytes, barrier<weir_Scope>&) {
  weir_copy(group, to, from, bytes);
}
}  // namespace cuda
)weir";

}  // namespace weir::kernels
