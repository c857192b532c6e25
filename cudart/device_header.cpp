// SPDX-License-Identifier: Apache-2.0
// Writes the headers of the device language for whole CUDA programs (cudart/include) into a folder: weir_device_cpu.h, which
// the host half of a program reads too, weir_device_nvidia.h, weir_device_amd.h, and CUDA's headers that kernels may
// include. The texts are those that kernels are compiled with (kernels/*.hpp). There the program consists of kernels only,
// and no header of the system is read; here they meet the system's headers and host code. So what only the former need is
// taken out, each piece by its exact text: if that text changes, the build fails here.
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/bfloat16.hpp"
#include "kernels/cub.hpp"
#include "kernels/device_default.hpp"
#include "kernels/device_entries.hpp"
#include "kernels/device_threads.hpp"
#include "kernels/groups.hpp"
#include "kernels/fiber_threads.hpp"
#include "kernels/fp8.hpp"
#include "kernels/gpu_entries.hpp"
#include "kernels/gpu_library.hpp"
#include "kernels/half.hpp"
#include "kernels/kernel_prelude.hpp"
#include "kernels/kernel_prelude_cuda.hpp"
#include "kernels/kernel_prelude_groups.hpp"
#include "kernels/kernel_prelude_math.hpp"
#include "kernels/kernel_prelude_packed.hpp"
#include "kernels/math_constants.hpp"
#include "kernels/runtime_atomics.hpp"

namespace {

using weir::host::both_begin, weir::host::both_end;
namespace host = weir::host;
namespace kernels = weir::kernels;

enum class Target { cpu, nvidia, amd };

/// A text in which pieces can be replaced.
class Text {
 public:
  explicit Text(std::string_view text) : text_(text) {}

  /// Replaces every `piece`, of which there must be at least one.
  Text& replace(std::string_view piece, std::string_view by) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text_.find(piece, at)) != std::string::npos; at += by.size(), ++count)
      text_.replace(at, piece.size(), by);
    if (count == 0) throw std::runtime_error("the kernels' text lacks: " + std::string(piece));
    return *this;
  }

  /// Replaces what lies from `begin` to the end of the next `end`.
  Text& replace(std::string_view begin, std::string_view end, std::string_view by) {
    const std::size_t first = text_.find(begin);
    const std::size_t last = first == std::string::npos ? first : text_.find(end, first);
    if (last == std::string::npos) throw std::runtime_error("the kernels' text lacks: " + std::string(begin));
    text_.replace(first, last + end.size() - first, by);
    return *this;
  }

  operator std::string_view() const { return text_; }

 private:
  std::string text_;
};

// The declarations of the C library's functions for device code. They come before the system's headers: then <cmath>'s
// constexpr functions, which Clang would compile for the device too, remain host code where there is a device function, and
// the using-declarations of <cstring> and others see both.
Text library(Target target) {
  Text text(host::prelude_cuda_library);
  text.replace("// constexpr functions of libstdc++", "#define M_SQRT1_2 0.70710678118654752440\n", "")
      .replace("#define assert(condition)", "__PRETTY_FUNCTION__))\n", "")
      // Clang knows the function `printf` of NVIDIA's GPUs.
      .replace("  // prelude_module defines it", "");
  if (target == Target::nvidia) text.replace(" __asm__(\"weir_printf\")", "");
  return text;
}

Text types() {
  Text text(host::prelude_types);
  text.replace("#ifndef WEIR_GPU\n// NVRTC's", "#define __align__(n) __attribute__((aligned(n)))\n", "")
      .replace("// Available without <new>", "typedef struct CUevent_st* cudaEvent_t;\n", "")
      // Without this constructor, `dim3(threadIdx)` would be ambiguous in C++14: by way of uint3 or of dim3.
      .replace("  WEIR_BOTH constexpr dim3(uint3 v)", R"(  template <class weir_B, class = typename weir_B::weir_built_in>
  WEIR_DEVICE dim3(const weir_B& b) : x(b.x), y(b.y), z(b.z) {}
  WEIR_BOTH constexpr dim3(uint3 v))");
  return text;
}

// The linker merges the variables of a program's files, because a thread that waits in one file's function was started by
// another's. A kernel's own module has one file, so there these are static.
#define WEIR_MERGED "__attribute__((weak, visibility(\"hidden\")))"

Text variables() {
  Text text(host::prelude_variables);
  text.replace("alignas(64) static __attribute__((device, visibility(\"hidden\"))) __thread",
               "alignas(64) " WEIR_MERGED " __attribute__((device)) __thread")
      .replace("constexpr weir_##name##_type() : weir_v() {}",
               "typedef int weir_built_in; constexpr weir_##name##_type() : weir_v() {}");
  return text;
}

Text launches() {
  Text text(host::prelude_launches);
  text.replace("WEIR_DEVICE static const launch_services* services;",
               "WEIR_DEVICE " WEIR_MERGED " const launch_services* services;")
      // The work-group pass makes the kernels' records.
      .replace("template <bool...>\nconstexpr bool all", "overloaded(const char* name) { return {name}; }\n", "");
  return text;
}

Text groups() {
  Text text(host::prelude_groups);
  text.replace("WEIR_DEVICE __attribute__((used)) extern const int __weir_fiber_warp_size",
               "WEIR_DEVICE __attribute__((used)) " WEIR_MERGED " extern const int __weir_fiber_warp_size")
      .replace("template <class... P, void (*const* kernel)(P...)>\nstruct launcher", "}  // namespace weir_host\n",
               "}  // namespace weir_host\n");
  return text;
}

Text module() {
  Text text(host::prelude_module);
  text.replace("WEIR_DEVICE const module_record weir_host_module_10 = {",
               "WEIR_DEVICE __attribute__((weak)) const module_record weir_host_module_10 = {")
      .replace("WEIR_DEVICE const char weir_host_cpu_features[] = \"\"",
               "WEIR_DEVICE __attribute__((weak)) const char weir_host_cpu_features[] = \"\"")
      .replace("WEIR_DEVICE __attribute__((noinline, visibility(\"hidden\"))) int weir_printf(",
               "WEIR_DEVICE __attribute__((noinline, weak, visibility(\"hidden\"))) int weir_printf(")
      .replace("WEIR_DEVICE __attribute__((noreturn, noinline, cold))",
               "WEIR_DEVICE __attribute__((noreturn, noinline, cold, weak, visibility(\"hidden\")))");
  return text;
}

Text gpu_library() { return Text(kernels::gpu_library); }

Text nvidia_library() {
  Text text(kernels::nvidia_library);
  text.replace("// The driver's vprintf", "#define printf(...) weir_printf(__VA_ARGS__)\n", "");
  return text;
}

// Programs count on warps of 32 lanes, so a wavefront of 64 lanes is two warps.
Text amd_entries() {
  Text text(kernels::amd_entries);
  text.replace("WEIR_ENTRY int __weir_lane() noexcept {", "WEIR_ENTRY int weir_hardware_lane() noexcept {")
      .replace("warpSize == 64 ?", "__AMDGCN_WAVEFRONT_SIZE == 64 ?")
      .replace("WEIR_ENTRY bool __weir_is_shared(",
               R"(WEIR_ENTRY int __weir_lane() noexcept { return weir_hardware_lane() % 32; }
WEIR_ENTRY unsigned int weir_of_warp(unsigned long long lanes) noexcept {
  return (unsigned int)(lanes >> (weir_hardware_lane() & 32));
}
WEIR_ENTRY bool __weir_is_shared()")
      .replace("return __builtin_amdgcn_read_exec();", "return weir_of_warp(__builtin_amdgcn_read_exec());")
      .replace("#if WEIR_WARP_SIZE == 64", "#if __AMDGCN_WAVEFRONT_SIZE == 64")
      .replace("return mask != 0 ? lanes & mask : lanes;",
               "const unsigned int those = weir_of_warp(lanes);\n  return mask != 0 ? those & (unsigned int)mask : those;")
      .replace("(unsigned int)source_lane < (unsigned int)warpSize ? source_lane : __weir_lane();",
               "((unsigned int)source_lane < 32 ? source_lane : __weir_lane()) + (weir_hardware_lane() & 32);");
  return text;
}

// CUDA has these functions in host code, too. A newer C library declares those of C23 itself.
Text math() {
  Text text(host::prelude_math);
  for (const char* const name :
       {"float rsqrtf", "double rsqrt", "double sinpi", "double cospi", "float sinpif", "float cospif"})
    text.replace(std::string("WEIR_C_FUNCTION ") + name, std::string("WEIR_C23_FUNCTION ") + name);
  // Defined as functions with C's linkage, as CUDA's are: programs declare some of them again.
  text.replace("#define WEIR_C_FUNCTION", R"(#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 41)
#define WEIR_C23_FUNCTION WEIR_DEVICE inline __attribute__((always_inline))
#else
#define WEIR_C23_FUNCTION WEIR_BOTH inline __attribute__((always_inline))
#endif
#define WEIR_C_FUNCTION)");
  text.replace("typedef long clock_t;  // as in the C library\n", "");
  return text;
}

// The overloads for float that <cmath> does not have.
constexpr std::string_view overloads = R"weir(
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

// The barrier of a cooperative launch's blocks. NVIDIA's driver gives such a launch a word of memory, whose address it
// passes in two registers; its highest bit changes when all blocks have added what they add to it.
constexpr std::string_view nvidia_grid = R"weir(
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
constexpr std::string_view amd_grid = R"weir(
extern "C" WEIR_DEVICE void __ockl_grid_sync();
extern "C" WEIR_ENTRY void __weir_grid_barrier() noexcept { __ockl_grid_sync(); }
)weir";

// CUDA's functions for dynamic programming (DPX): sums, the greatest and the least of numbers of 32 bits or of pairs of 16
// bits.
constexpr std::string_view dynamic_programming = R"weir(
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

// The functions of CUDA 12.8 for atomic accesses with an order. The scope is always the system.
constexpr std::string_view ordered_atomics = R"weir(
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

// CUDA's conversions of numbers of 8 bits, and the types of two and four of them.
constexpr std::string_view fp8_conversions = R"weir(
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

// CUDA's built-in functions `new` and `delete` of device code.
constexpr std::string_view memory = R"weir(
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
#undef WEIR_NEW
#endif
)weir";

std::string device_header(Target target) {
  std::string text =
      "// Generated from Weir's kernel language (cudart/device_header.cpp).\n#pragma once\n"
      "#pragma clang system_header\n";
  const bool cpu = target == Target::cpu, nvidia = target == Target::nvidia;
  text.append("#define WEIR_WARP_SIZE 32\n");
  if (!cpu) text.append("#define WEIR_GPU 1\n#pragma clang fp contract(off)\n");
  text.append(library(target)).append(types()).append("#include <weir_system_headers.h>\n");
  text.append("#define WEIR_SET_PLACE(name, file, line, number) ((void)0)\n#define WEIR_SPIN() ((void)0)\n");
  if (cpu) {
    text.append(
        "#define WEIR_ENTRY WEIR_DEVICE\n#define WEIR_PURE __attribute__((const))\n"
        "#define WEIR_CONVERGENT __attribute__((convergent))\n"
        "#define WEIR_FIBER(name) __weir_fiber_##name\n"
        "#ifndef WEIR_KEPT\n#define WEIR_KEPT __attribute__((used))\n#endif\n"
        "#define WEIR_FIBER_ENTRY WEIR_DEVICE WEIR_KEPT WEIR_ALWAYS_INLINE\n");
    text.append(kernels::device_entries);
    // The host half of a program reads declarations only.
    text.append("#ifndef __CUDA_ARCH__\n#define WEIR_GPU 1\n#endif\n").append(variables());
    text.append("#ifdef __CUDA_ARCH__\n")
        .append(launches())
        .append(both_begin)
        .append(kernels::fiber_threads)
        .append(both_end);
    text.append("#else\n#undef WEIR_GPU\n#endif\n").append(both_begin).append(kernels::device_threads).append(both_end);
  } else {
    text.append("#define WEIR_ENTRY WEIR_DEVICE WEIR_ALWAYS_INLINE\n#define WEIR_PURE\n#define WEIR_CONVERGENT\n");
    text.append(kernels::device_entries)
        .append(variables())
        .append(nvidia ? kernels::nvidia_entries : std::string_view(amd_entries()))
        .append(Text(kernels::gpu_entries).replace("typedef long clock_t;\n", ""))
        .append(nvidia ? nvidia_grid : amd_grid)
        .append(both_begin)
        .append(kernels::device_threads)
        .append(both_end);
    text.append(nvidia ? std::string_view(nvidia_library()) : kernels::amd_library).append(gpu_library());
  }
  text.append(math())
      .append("#undef WEIR_C23_FUNCTION\n")
      .append(host::prelude_packed)
      .append(both_begin)
      .append(kernels::runtime_atomics);
  if (cpu) text.append("#ifdef __CUDA_ARCH__\n").append(groups()).append(both_end).append(module()).append("#else\n");
  text.append(both_end);
  if (cpu) text.append("#endif\n");
  text.append(overloads).append(dynamic_programming).append(memory);
  if (target == Target::amd) {
    for (const char* const name : {"fetch_add", "fetch_sub", "fetch_min", "fetch_max", "fetch_and", "fetch_or", "fetch_xor",
                                   "load", "exchange", "compare_exchange"})
      text.append("#undef __atomic_").append(name).append("\n");
  }
  text.append(ordered_atomics);
  if (!cpu) text.append("#pragma clang fp contract(fast)\n");
  return text;
}

// The generator XORWOW (G. Marsaglia, "Xorshift RNGs") is a linear map of 160 bits. So n steps of it are a polynomial in one
// step: x^n modulo the map's characteristic polynomial. The table has those for n = 2^0 … 2^63, which skip numbers of a
// sequence, and for n = 2^67 … 2^130, which skip sequences.
std::string xorwow_jumps() {
  using Polynomial = std::array<std::uint32_t, 5>;
  constexpr Polynomial characteristic = {0x60001, 0x8610030, 0x62121, 0xf3c0035, 0xf0e};  // without x^160
  const auto times_x = [&](const Polynomial& p) {
    Polynomial result{};
    for (int i = 0; i < 5; ++i) result[i] = p[i] << 1 | (i > 0 ? p[i - 1] >> 31 : 0);
    for (int i = 0; i < 5 && p[4] >> 31 != 0; ++i) result[i] ^= characteristic[i];
    return result;
  };
  const auto squared = [&](const Polynomial& p) {
    Polynomial result{}, power = p;  // the power is x^bit times p
    for (int bit = 0; bit < 160; ++bit, power = times_x(power)) {
      for (int i = 0; i < 5 && (p[bit / 32] >> bit % 32 & 1) != 0; ++i) result[i] ^= power[i];
    }
    return result;
  };
  std::string text =
      "// Generated by cudart/device_header.cpp.\n#pragma once\n"
      "static __device__ const unsigned int weir_xorwow_jumps[2][64][5] = {\n";
  Polynomial jump = {2};
  for (int k = 0; k <= 130; ++k, jump = squared(jump)) {
    if (k >= 64 && k < 67) continue;
    text += k == 0 || k == 67 ? "{{" : "{";
    for (const std::uint32_t word : jump) text += std::to_string(word) + "u,";
    text += k == 63 || k == 130 ? "}},\n" : "},\n";
  }
  return text + "};\n";
}

void write(const std::filesystem::path& file, std::string_view text) {
  std::filesystem::create_directories(file.parent_path());
  const std::string old = [&] {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  if (old == text) return;
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
}

// A header of CUDA's that device code includes, with NVIDIA's guard, so that a toolkit's header of that name stays out.
std::string header(const char* guard, std::string_view text) {
  std::string all = "// Generated from Weir's kernel language (cudart/device_header.cpp).\n";
  all.append("#ifndef ").append(guard).append("\n#define ").append(guard).append("\n#pragma GCC system_header\n");
  return all.append("#include <cuda_runtime.h>\n").append(text).append("#endif\n");
}

void write_headers(const std::filesystem::path& folder) {
  write(folder / "weir_device_cpu.h", device_header(Target::cpu));
  write(folder / "weir_device_nvidia.h", device_header(Target::nvidia));
  write(folder / "weir_device_amd.h", device_header(Target::amd));
  const auto narrow = [](std::string_view text) { return Text(text).replace("__WEIR_HOST__", "__CUDA__"); };
  write(folder / "cuda_fp16.h", header("__CUDA_FP16_H__", narrow(kernels::half_header)));
  write(folder / "cuda_bf16.h", header("__CUDA_BF16_H__", narrow(kernels::bfloat16_header)));
  write(
      folder / "cuda_fp8.h",
      header("__CUDA_FP8_H__", std::string(kernels::fp8_header).append("#include <cuda_bf16.h>\n").append(fp8_conversions)));
  write(folder / "cuda_fp16.hpp", "#include <cuda_fp16.h>\n");
  write(folder / "cuda_bf16.hpp", "#include <cuda_bf16.h>\n");
  write(folder / "math_constants.h", header("__MATH_CONSTANTS_H__", kernels::math_constants_header));
  write(folder / "cooperative_groups.h", header("_COOPERATIVE_GROUPS_H_", kernels::groups_text));
  write(folder / "cooperative_groups/reduce.h", "#include <cooperative_groups.h>\n");
  write(folder / "cooperative_groups/scan.h", "#include <cooperative_groups.h>\n");
  write(folder / "weir_xorwow_jumps.h", xorwow_jumps());
  for (const auto& [name, text] : kernels::cub_files)
    write(folder / name, std::string("#pragma once\n#pragma GCC system_header\n#include <cuda_runtime.h>\n").append(text));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: weir_device_header FOLDER\n", stderr);
    return 2;
  }
  try {
    write_headers(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weir_device_header: %s\n", error.what());
    return 1;
  }
  return 0;
}
