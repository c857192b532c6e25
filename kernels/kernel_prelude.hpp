// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The prelude: text before every kernel source. It has the built-in types and variables of CUDA C++ and HIP C++, and the
/// loops that run a kernel over its grid. It is compiled as C++14, 17 or 20. The user's macros are defined after it.
namespace weir::host {

/// Includes the C library's own headers, for compilers that do not distinguish host and device code.
inline constexpr std::string_view prelude_c_library = R"weir(
// Many sources define a function of this name. In C++20, <math.h> would also declare one in the global namespace.
#define lerp weir_lerp
// With this macro, the C library declares its vector functions to GCC.
#if defined(__x86_64__) && !defined(__FAST_MATH__)
#define __FAST_MATH__ 1
#include <math.h>
#undef __FAST_MATH__
#else
#include <math.h>
#endif
#undef lerp
#if __cplusplus >= 202002L
namespace std {
template <class T>
constexpr auto lerp(T a, T b, T t) -> decltype(weir_lerp(a, b, t)) { return weir_lerp(a, b, t); }
}
#endif
#if __has_include(<initializer_list>)
#include <initializer_list>  // the language itself needs it: for (int i : {1, 2, 3})
#endif
#include <assert.h>
#include <fenv.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WEIR_DEVICE
#define WEIR_BOTH
#define WEIR_UPWARD FE_UPWARD
#define WEIR_DOWNWARD FE_DOWNWARD
#define WEIR_TOWARDZERO FE_TOWARDZERO
extern "C" int printf(const char* format, ...) __asm__("weir_printf");  // prelude_module defines it
extern "C" int vprintf(const char* format, __builtin_va_list values);
)weir";

/// Dim3, vectors and the keywords. Each keyword is a macro for itself, so that `#ifdef __device__` is true and the scanner
/// still sees the word; `cpp_keywords` or `cuda_keywords` then gives it its meaning.
inline constexpr std::string_view prelude_types = R"weir(
#ifndef WEIR_GPU
// NVRTC's macros for compute capability 7.0, the newest one whose kernels need no instruction that only a GPU has.
#define __WEIR_HOST__ 1
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12000
#undef __CUDA_ARCH_LIST__
#define __CUDA_ARCH_LIST__ 700
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ 700
#endif
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif
#define __global__ __global__
#define __device__ __device__
#define __host__ __host__
#define __constant__ __constant__
#define __managed__ __managed__
#define __shared__ __shared__
#define __grid_constant__ __grid_constant__
#define __launch_bounds__ __launch_bounds__
#define __forceinline__ __forceinline__
#define __align__(n) __attribute__((aligned(n)))
#define WEIR_IN_QUOTES(word) #word
#define WEIR_QUOTED(word) WEIR_IN_QUOTES(word)

#define WEIR_VECTOR(type, name, alignment1, alignment2, alignment4)                                  \
  struct __attribute__((aligned(alignment1))) name##1 { type x; };                                   \
  struct __attribute__((aligned(alignment2))) name##2 { type x, y; };                                \
  struct name##3 { type x, y, z; };                                                                  \
  struct __attribute__((aligned(alignment4))) name##4 { type x, y, z, w; };                          \
  WEIR_BOTH static inline constexpr name##1 make_##name##1(type x) { return {x}; }                             \
  WEIR_BOTH static inline constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }                  \
  WEIR_BOTH static inline constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }       \
  WEIR_BOTH static inline constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
WEIR_VECTOR(signed char, char, 1, 2, 4)
WEIR_VECTOR(unsigned char, uchar, 1, 2, 4)
WEIR_VECTOR(short, short, 2, 4, 8)
WEIR_VECTOR(unsigned short, ushort, 2, 4, 8)
WEIR_VECTOR(int, int, 4, 8, 16)
WEIR_VECTOR(unsigned int, uint, 4, 8, 16)
WEIR_VECTOR(long, long, sizeof(long), 2 * sizeof(long), 16)
WEIR_VECTOR(unsigned long, ulong, sizeof(long), 2 * sizeof(long), 16)
WEIR_VECTOR(long long, longlong, 8, 16, 16)
WEIR_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
WEIR_VECTOR(float, float, 4, 8, 16)
WEIR_VECTOR(double, double, 8, 16, 16)
#undef WEIR_VECTOR

struct dim3 {
  unsigned int x, y, z;
  WEIR_BOTH constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  WEIR_BOTH constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  WEIR_BOTH constexpr operator uint3() const { return {x, y, z}; }
};

// Available without <new>, as in NVRTC. Templates, so that they do not conflict with functions of <new> or of the source.
template <class weir_T>
WEIR_BOTH inline void* operator new(size_t, weir_T* place) noexcept {
  return (void*)place;
}
template <class weir_T>
WEIR_BOTH inline void* operator new[](size_t, weir_T* place) noexcept {
  return (void*)place;
}

// Types that declarations in a header may name.
enum cudaError_t { cudaSuccess };
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

#define WEIR_ALWAYS_INLINE inline __attribute__((always_inline))
static constexpr int warpSize = WEIR_WARP_SIZE;
namespace weir_host {
template <bool wide>
struct lane_mask {
  using type = unsigned int;
};
template <>
struct lane_mask<true> {
  using type = unsigned long long;
};
// One bit for each lane: the result type of __ballot_sync.
using lane_bits = lane_mask<(warpSize > 32)>::type;
constexpr lane_bits all_lanes = (lane_bits)~(lane_bits)0;
}  // namespace weir_host
)weir";

/// The built-in variables. They are aligned because AddressSanitizer before LLVM 16 misreads thread-local memory that begins
/// 16 bytes into a page.
inline constexpr std::string_view prelude_variables = R"weir(
#ifdef __CUDA__
#define WEIR_THREAD_VARIABLE alignas(64) static __attribute__((device, visibility("hidden"))) __thread
#endif
#if (defined(__CUDA__) || defined(WEIR_GPU)) && !defined(WEIR_FOR_DEBUGGER)
#define WEIR_THREAD(name) weir_##name
// As on a GPU, these variables are not in memory: reading one calls an entry. A copy of one is an ordinary object.
#define WEIR_BUILT_IN(name, entry)                                                                            \
  class weir_##name##_type {                                                                                  \
    unsigned int weir_v[3];                                                                                   \
                                                                                                              \
   public:                                                                                                    \
    constexpr weir_##name##_type() : weir_v() {}                                                              \
    WEIR_DEVICE WEIR_ALWAYS_INLINE weir_##name##_type(const weir_##name##_type& o)                            \
        : weir_v{o.weir_get_x(), o.weir_get_y(), o.weir_get_z()} {}                                           \
    WEIR_DEVICE WEIR_ALWAYS_INLINE weir_##name##_type& operator=(const weir_##name##_type& o) {               \
      for (int i = 0; i < 3; ++i) weir_v[i] = o.weir_get(i);                                                  \
      return *this;                                                                                           \
    }                                                                                                         \
    WEIR_DEVICE WEIR_ALWAYS_INLINE unsigned int weir_get(int axis) const;                                     \
    WEIR_BUILT_IN_AXIS(x, 0) WEIR_BUILT_IN_AXIS(y, 1) WEIR_BUILT_IN_AXIS(z, 2)                                \
    WEIR_DEVICE WEIR_ALWAYS_INLINE operator uint3() const { return {x, y, z}; }                               \
    WEIR_DEVICE WEIR_ALWAYS_INLINE operator dim3() const { return dim3(x, y, z); }                            \
  };                                                                                                          \
  static constexpr weir_##name##_type name;                                                                   \
  WEIR_DEVICE WEIR_ALWAYS_INLINE unsigned int weir_##name##_type::weir_get(int axis) const {                  \
    return this == &name ? entry(axis) : weir_v[axis];                                                        \
  }
#define WEIR_BUILT_IN_AXIS(axis, number)                                                                      \
  WEIR_DEVICE WEIR_ALWAYS_INLINE unsigned int weir_get_##axis() const { return weir_get(number); }            \
  WEIR_DEVICE WEIR_ALWAYS_INLINE void weir_set_##axis(unsigned int v) { weir_v[number] = v; }                 \
  __declspec(property(get = weir_get_##axis, put = weir_set_##axis)) unsigned int axis;
WEIR_BUILT_IN(threadIdx, __weir_tid)
WEIR_BUILT_IN(blockIdx, __weir_ctaid)
WEIR_BUILT_IN(blockDim, __weir_ntid)
WEIR_BUILT_IN(gridDim, __weir_nctaid)
#undef WEIR_BUILT_IN
#undef WEIR_BUILT_IN_AXIS
#else
#define WEIR_THREAD(name) name
#endif
#ifndef __CUDA__
#define WEIR_THREAD_VARIABLE alignas(64) static thread_local
#endif
#ifndef WEIR_GPU
WEIR_THREAD_VARIABLE uint3 WEIR_THREAD(threadIdx);
WEIR_THREAD_VARIABLE uint3 WEIR_THREAD(blockIdx);
WEIR_THREAD_VARIABLE dim3 WEIR_THREAD(blockDim);
WEIR_THREAD_VARIABLE dim3 WEIR_THREAD(gridDim);
#endif
)weir";

/// Declarations for code that launches kernels: the interface to the worker (kernel_abi.hpp), and what is known about a
/// kernel's parameters.
inline constexpr std::string_view prelude_launches = R"weir(
#ifdef __OPTIMIZE__
#define WEIR_FLATTEN __attribute__((flatten))
#else
#define WEIR_FLATTEN
#endif

namespace weir_host {

struct kernel_fault {
  const char* place;
  const char* function;
  uint32_t block[3];
  uint32_t thread;
  uint32_t here;
  uint32_t expected;
  uint64_t missing_lanes;
  const char* others;
};
struct block_range;
struct fiber_kernel;
struct wait;
struct launch_services {
  void* (*take)(size_t bytes);
  void (*give_back)(void* memory);
  void (*fail)(void* launch, const kernel_fault& fault);
  bool (*sync_grid)(void* launch, const char* place);
  void (*run_fibers)(const block_range& range, const fiber_kernel& kernel);
  uint32_t (*wait)(void* fibers, struct wait& w, uint32_t started);
  void (*fail_assertion)(const char* condition, const char* file, uint32_t line);
  void (*thread_memory)(char** range);
};
WEIR_DEVICE static const launch_services* services;  // null while the module is being loaded
struct block_range {
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t first_block;
  uint64_t last_block;
  uint64_t shared_bytes;
  const launch_services* services;
  void* launch;
};

enum kernel_tier : uint32_t { tier_unknown, tier_fibers, tier_workgroup };
struct kernel_record {
  const char* name;
  void (*run)(const block_range&, const void* const*);
  const size_t* parameter_sizes;
  uint32_t parameter_count;
  uint32_t max_threads_per_block;
  uint64_t known_kinds;
  uint64_t floating_kinds;
  uint64_t constant_kinds;
  uint64_t atomic_kinds;
  uint64_t update_kinds;
  kernel_tier tier;
};

struct module_record {
  uint32_t revision;
  uint32_t record_size;
  const kernel_record* const* first;
  const kernel_record* const* last;
  const launch_services** services;
};

template <class P>
struct parameter {
  // The bytes of a launch's argument may be unaligned, so copy them.
  alignas(P) unsigned char bytes[sizeof(P)];
  explicit parameter(const void* argument) { __builtin_memcpy(bytes, argument, sizeof(P)); }
  P& value() { return *reinterpret_cast<P*>(bytes); }
};

template <size_t... I>
struct indices {};
template <size_t n, size_t... I>
struct count_to : count_to<n - 1, n - 1, I...> {};
template <size_t... I>
struct count_to<0, I...> {
  using type = indices<I...>;
};

template <bool...>
constexpr bool all = true;
template <bool first, bool... rest>
constexpr bool all<first, rest...> = first && all<rest...>;

template <class T>
constexpr bool is_value = true;
template <class T>
constexpr bool is_value<T&> = false;
template <class T>
constexpr bool is_value<T&&> = false;

template <class T>
constexpr bool is_floating = false;
template <>
constexpr bool is_floating<float> = true;
template <>
constexpr bool is_floating<double> = true;

template <class T>
constexpr bool points_to_const = false;
template <class T>
constexpr bool points_to_const<const T*> = true;

// Facts about the first 64 parameters; bit i is parameter i. `known`: whether it is a floating-point number is known.
// `floating`: it is one. `constant`: it is a pointer to const.
template <class...>
struct kinds {
  static constexpr uint64_t known = 0, floating = 0, constant = 0;
};
template <class T, class... rest>
struct kinds<T, rest...> {
  static constexpr uint64_t known = (__is_class(T) || __is_union(T) ? 0 : 1) | kinds<rest...>::known << 1;
  static constexpr uint64_t floating = (is_floating<T> ? 1 : 0) | kinds<rest...>::floating << 1;
  static constexpr uint64_t constant = (points_to_const<T> ? 1 : 0) | kinds<rest...>::constant << 1;
};

// The requirements for a kernel's type F. Static assertions after the source check them.
template <class F>
struct rules {
  static constexpr bool returns_void = false, by_value = true, copyable = true;
};
template <class... P>
struct rules<void (*)(P...)> {
  static constexpr bool returns_void = true;
  static constexpr bool by_value = all<is_value<P>...>;
  static constexpr bool copyable = !by_value || all<__is_trivially_copyable(P)...>;
};

// In CUDA a template argument cannot be a kernel, so a kernel is called through a constant that contains its address.
#ifdef __CUDA__
#define WEIR_POINTER const*
#define WEIR_POINTED(kernel) (*kernel)
#else
#define WEIR_POINTER
#define WEIR_POINTED(kernel) kernel
#endif
// Its function `run` runs a kernel: `prelude_fibers` or `prelude_groups` defines it.
template <class F, F WEIR_POINTER kernel>
struct launcher;
template <class F, F WEIR_POINTER kernel,
          bool valid = rules<F>::returns_void && rules<F>::by_value && rules<F>::copyable>
struct recorder {
  static constexpr kernel_record record(const char*, uint32_t) { return {}; }
};
template <class... P, void (*WEIR_POINTER kernel)(P...)>
struct recorder<void (*)(P...), kernel, true> {
  WEIR_DEVICE static constexpr size_t sizes[] = {sizeof(P)..., 0};
  static constexpr kernel_record record(const char* name, uint32_t max_threads) {
    return {name, &launcher<void (*)(P...), kernel>::run, sizes, sizeof...(P), max_threads,
            kinds<P...>::known, kinds<P...>::floating, kinds<P...>::constant, 0, 0, WEIR_TIER};
  }
};
template <class... P, void (*WEIR_POINTER kernel)(P...)>
WEIR_DEVICE constexpr size_t recorder<void (*)(P...), kernel, true>::sizes[];
// The record for a name that several kernels share. It cannot be launched; Module::kernel reports the reason.
constexpr kernel_record overloaded(const char* name) { return {name}; }

}  // namespace weir_host
)weir";

/// The loop over the threads of a block, for kernels on fibers. While a thread waits, the worker starts the next ones on
/// another stack (backends/host/run/fibers.hpp).
inline constexpr std::string_view prelude_fibers = R"weir(
namespace weir_host {

template <class... P, void (*WEIR_POINTER kernel)(P...)>
struct launcher<void (*)(P...), kernel> {
  static void run(const block_range& range, const void* const* arguments) {
    fiber_launch l;
    l.run_threads = &run_threads;
    run_on_fibers(range, arguments, l);
  }

  static uint32_t run_threads(const fiber_kernel& l, void* f, const uint32_t* block, uint32_t first) {
    enter_block(f, block);
    return unpack(static_cast<const fiber_launch&>(l).arguments, first, typename count_to<sizeof...(P)>::type{});
  }

  template <size_t... I>
  static inline uint32_t unpack(const void* const* arguments, uint32_t first, indices<I...>) {
    (void)arguments;
    return threads(first, parameter<P>(arguments[I]).value()...);
  }

  // If the thread has waited, other threads were started meanwhile, and `started` differs from n. In a kernel that never
  // waits, compilers see that the two are equal, and vectorize the inner loop.
  WEIR_FLATTEN static uint32_t threads(uint32_t first, P... p) {
    bottom = __builtin_frame_address(0);
    const dim3 block = ::WEIR_THREAD(blockDim);
    const uint32_t count = block.x * block.y * block.z;
    for (uint32_t n = first; n < count; n = started) {
      uint32_t x = n % block.x, y = n / block.x % block.y, z = n / block.x / block.y;
      for (bool in_order = true; in_order && z < block.z; ++z, y = 0) {
        for (; in_order && y < block.y; ++y, x = 0) {
          for (; in_order && x < block.x; ++x) {
            ::WEIR_THREAD(threadIdx) = {x, y, z};
            started = ++n;
            WEIR_VISIBLE();
            WEIR_POINTED(kernel)(p...);
            WEIR_VISIBLE();
            in_order = started == n;
          }
        }
      }
    }
    return count;
  }
};

}  // namespace weir_host
)weir";

/// The symbols that a module exports.
inline constexpr std::string_view prelude_module = R"weir(
namespace weir_host {

extern "C" {
// Begin and end of the section that contains the records' addresses. Absent if the source has no kernel.
extern WEIR_DEVICE const kernel_record* const __start_weir_kernels[] __attribute__((weak, visibility("hidden")));
extern WEIR_DEVICE const kernel_record* const __stop_weir_kernels[] __attribute__((weak, visibility("hidden")));
extern WEIR_DEVICE const module_record weir_host_module_10 __attribute__((visibility("default")));
extern WEIR_DEVICE const char weir_host_cpu_features[] __attribute__((visibility("default")));
WEIR_DEVICE const module_record weir_host_module_10 = {
    10, sizeof(kernel_record), __start_weir_kernels, __stop_weir_kernels, &services};
// As on a GPU, `printf` returns the number of its arguments.
WEIR_DEVICE __attribute__((noinline, visibility("hidden"))) int weir_printf(const char* format, ...) {
  if (format == nullptr) return -1;
  int arguments = 0;
  for (const char* at = format; *at != 0; ++at) {
    if (*at != '%') continue;
    for (++at; (*at >= '0' && *at <= '9') || (*at >= '*' && *at <= '.') || *at == ' ' || *at == '#'; ++at)
      arguments += *at == '*';
    if (*at == 0) break;
    arguments += *at != '%';
  }
  __builtin_va_list values;
  __builtin_va_start(values, format);
  const int written = vprintf(format, values);
  __builtin_va_end(values);
  return written < 0 ? -2 : arguments;
}
// Replaces the C library's function, which would end the process.
WEIR_DEVICE __attribute__((noreturn, noinline, cold)) void __assert_fail(const char* condition, const char* file,
                                                                         unsigned int line, const char*) noexcept {
  services->fail_assertion(condition, file, line);
  __builtin_unreachable();
}
// Compilers call this function in a source that is compiled with -fsanitize=bounds.
struct source_place {
  const char* file;
  uint32_t line;
};
WEIR_DEVICE __attribute__((noreturn, noinline, cold)) void __ubsan_handle_out_of_bounds_abort(const source_place* at,
                                                                                              size_t) noexcept {
  services->fail_assertion("the index is one of the array", at->file, at->line);
  __builtin_unreachable();
}
WEIR_DEVICE const char weir_host_cpu_features[] = ""
// Each feature macro is 1 if the compiler uses the feature; otherwise it is not defined.
#define WEIR_DEFINED_1 ,
#define WEIR_SECOND(first, second, ...) second
#define WEIR_SECOND_OF(...) WEIR_SECOND(__VA_ARGS__, "")
#define WEIR_IF_DEFINED(value, name) WEIR_SECOND_OF(WEIR_DEFINED_##value " " name, "")
#define WEIR_CPU_FEATURE(macro, name) WEIR_IF_DEFINED(macro, name)
WEIR_CPU_FEATURE(__SSE3__, "pni") WEIR_CPU_FEATURE(__SSSE3__, "ssse3") WEIR_CPU_FEATURE(__SSE4_1__, "sse4_1")
WEIR_CPU_FEATURE(__SSE4_2__, "sse4_2") WEIR_CPU_FEATURE(__POPCNT__, "popcnt") WEIR_CPU_FEATURE(__AVX__, "avx")
WEIR_CPU_FEATURE(__AVX2__, "avx2") WEIR_CPU_FEATURE(__FMA__, "fma") WEIR_CPU_FEATURE(__F16C__, "f16c")
WEIR_CPU_FEATURE(__BMI__, "bmi1") WEIR_CPU_FEATURE(__BMI2__, "bmi2") WEIR_CPU_FEATURE(__LZCNT__, "abm")
WEIR_CPU_FEATURE(__MOVBE__, "movbe") WEIR_CPU_FEATURE(__AVX512F__, "avx512f")
WEIR_CPU_FEATURE(__AVX512CD__, "avx512cd") WEIR_CPU_FEATURE(__AVX512BW__, "avx512bw")
WEIR_CPU_FEATURE(__AVX512DQ__, "avx512dq") WEIR_CPU_FEATURE(__AVX512VL__, "avx512vl")
WEIR_CPU_FEATURE(__AVX512VBMI__, "avx512vbmi") WEIR_CPU_FEATURE(__AVX512VBMI2__, "avx512_vbmi2")
WEIR_CPU_FEATURE(__AVX512IFMA__, "avx512ifma") WEIR_CPU_FEATURE(__AVX512VNNI__, "avx512_vnni")
WEIR_CPU_FEATURE(__AVX512BITALG__, "avx512_bitalg") WEIR_CPU_FEATURE(__AVX512VPOPCNTDQ__, "avx512_vpopcntdq")
WEIR_CPU_FEATURE(__AVX512BF16__, "avx512_bf16") WEIR_CPU_FEATURE(__AVX512FP16__, "avx512_fp16")
WEIR_CPU_FEATURE(__AVXVNNI__, "avx_vnni") WEIR_CPU_FEATURE(__GFNI__, "gfni")
WEIR_CPU_FEATURE(__SSE4A__, "sse4a") WEIR_CPU_FEATURE(__FMA4__, "fma4") WEIR_CPU_FEATURE(__XOP__, "xop")
WEIR_CPU_FEATURE(__TBM__, "tbm") WEIR_CPU_FEATURE(__VAES__, "vaes") WEIR_CPU_FEATURE(__ARM_FEATURE_DOTPROD, "asimddp")
WEIR_CPU_FEATURE(__ARM_FEATURE_SVE, "sve") WEIR_CPU_FEATURE(__ARM_FEATURE_SVE2, "sve2")
;
#undef WEIR_CPU_FEATURE
#undef WEIR_IF_DEFINED
#undef WEIR_SECOND_OF
#undef WEIR_SECOND
#undef WEIR_DEFINED_1
}

}  // namespace weir_host
)weir";

/// The meaning of the keywords if the source is compiled as C++. A kernel is inlined into its loop. A shared variable is
/// thread-local to the worker that runs the block, because a worker runs one block at a time; `__constinit` (GCC) and
/// `__thread` (Clang) reject constructors for such a variable. `__noinline__` may also appear within an attribute.
inline constexpr std::string_view cpp_keywords = R"weir(
#define __global__ inline
#define __device__
#define __constant__
#define __managed__
#define __host__
#define __grid_constant__
#define __forceinline__ __attribute__((always_inline))
#define __noinline__
#ifdef __clang__
#define __shared__ static __thread
#define weir_dynamic_shared_memory __thread
#else
#define __shared__ __constinit thread_local
#define weir_dynamic_shared_memory __constinit thread_local
#endif
)weir";

}  // namespace weir::host
