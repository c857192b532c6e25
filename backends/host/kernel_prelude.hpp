// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// What stands before every kernel source: the built-in types and variables of CUDA C++ and HIP C++, and the loops that run
/// a kernel over its grid. It is read as C++14, 17 or 20. The user's macros are defined behind it.
namespace weir::host {

/// Dim3, vectors and the keywords. The keywords are macros of themselves, so that `#ifdef __device__` is true while the word
/// reaches the rewriter, which knows where it stands.
inline constexpr std::string_view prelude_types = R"weir(
// So that the C library declares its vector functions to GCC.
#if defined(__x86_64__) && !defined(__FAST_MATH__)
#define __FAST_MATH__ 1
#include <math.h>
#undef __FAST_MATH__
#else
#include <math.h>
#endif
#include <assert.h>
#include <fenv.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __WEIR_HOST__ 1
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

extern "C" int printf(const char* format, ...);

#define WEIR_VECTOR(type, name, alignment1, alignment2, alignment4)                                  \
  struct __attribute__((aligned(alignment1))) name##1 { type x; };                                   \
  struct __attribute__((aligned(alignment2))) name##2 { type x, y; };                                \
  struct name##3 { type x, y, z; };                                                                  \
  struct __attribute__((aligned(alignment4))) name##4 { type x, y, z, w; };                          \
  static inline constexpr name##1 make_##name##1(type x) { return {x}; }                             \
  static inline constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }                  \
  static inline constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }       \
  static inline constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
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
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

// Kernels see parameters of these names instead. These are for the functions that kernels call. Aligned because
// AddressSanitizer (before LLVM 16) takes thread-local memory that begins 16 bytes into a page for something else.
#define WEIR_THREAD_VARIABLE alignas(64) static thread_local
WEIR_THREAD_VARIABLE uint3 threadIdx;
WEIR_THREAD_VARIABLE uint3 blockIdx;
WEIR_THREAD_VARIABLE dim3 blockDim;
WEIR_THREAD_VARIABLE dim3 gridDim;
WEIR_THREAD_VARIABLE unsigned int weir_global_x;  // blockIdx.x * blockDim.x + threadIdx.x
#undef WEIR_THREAD_VARIABLE
static constexpr int warpSize = WEIR_WARP_SIZE;

namespace weir_host {
// Of a thread's number in the row of the grid: see `launcher`.
#ifdef __clang__
using global_index = uint32_t;
#else
using global_index = int32_t;
#endif
}  // namespace weir_host
)weir";

/// The launcher and what a module exports (kernel_abi.hpp).
inline constexpr std::string_view prelude_launcher = R"weir(
#ifdef __OPTIMIZE__
#define WEIR_FLATTEN __attribute__((flatten))
#else
#define WEIR_FLATTEN
#endif

namespace weir_host {

struct kernel_record {
  const char* name;
  void (*run)(const block_range&, const void* const*);
  const size_t* parameter_sizes;
  uint32_t parameter_count;
  uint32_t max_threads_per_block;
  uint64_t known_kinds;
  uint64_t floating_kinds;
  uint64_t constant_kinds;
};

struct module_record {
  uint32_t revision;
  uint32_t record_size;
  const kernel_record* const* first;
  const kernel_record* const* last;
};

template <class P>
struct parameter {
  // A launch promises nothing about where the bytes of an argument lie.
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

#define WEIR_BUILT_IN unsigned int, uint3, uint3, dim3, dim3

template <bool...>
struct all {
  static constexpr bool value = true;
};
template <bool... rest>
struct all<false, rest...> {
  static constexpr bool value = false;
};
template <bool... rest>
struct all<true, rest...> : all<rest...> {};

template <class T>
struct is_value {
  static constexpr bool value = true;
};
template <class T>
struct is_value<T&> {
  static constexpr bool value = false;
};
template <class T>
struct is_value<T&&> {
  static constexpr bool value = false;
};

template <class T>
struct is_floating {
  static constexpr bool value = false;
};
template <>
struct is_floating<float> {
  static constexpr bool value = true;
};
template <>
struct is_floating<double> {
  static constexpr bool value = true;
};

template <class T>
struct points_to_const {
  static constexpr bool value = false;
};
template <class T>
struct points_to_const<const T*> {
  static constexpr bool value = true;
};

// Of the first 64 parameters, number i as bit i: those of which it is known whether they are floating-point numbers, those
// that are, and those that are pointers to const.
template <class...>
struct kinds {
  static constexpr uint64_t known = 0, floating = 0, constant = 0;
};
template <class T, class... rest>
struct kinds<T, rest...> {
  static constexpr uint64_t known = (__is_class(T) || __is_union(T) ? 0 : 1) | kinds<rest...>::known << 1;
  static constexpr uint64_t floating = (is_floating<T>::value ? 1 : 0) | kinds<rest...>::floating << 1;
  static constexpr uint64_t constant = (points_to_const<T>::value ? 1 : 0) | kinds<rest...>::constant << 1;
};

// What a kernel's type F has to be. The rewriter asserts each behind the kernel.
template <class F>
struct rules {
  static constexpr bool returns_void = false, by_value = true, copyable = true;
};
template <class... P>
struct rules<void (*)(WEIR_BUILT_IN, P...)> {
  static constexpr bool returns_void = true;
  static constexpr bool by_value = all<is_value<P>::value...>::value;
  static constexpr bool copyable = !by_value || all<__is_trivially_copyable(P)...>::value;
};

// Of a kernel that was split: its first parameter is the block.
template <class... P>
struct rules<void (*)(block&, P...)> : rules<void (*)(WEIR_BUILT_IN, P...)> {};

// `flat`: of blockIdx and threadIdx the kernel uses their sum with the block's width alone, so that threads of neighbouring
// blocks are one row.
template <class F, F kernel, bool flat>
struct launcher;

// Dynamic shared memory of a kernel that does not itself declare any.
template <bool used>
struct dynamic_memory {
  explicit dynamic_memory(const block_range&) {}
};
template <>
struct dynamic_memory<true> {
  const launch_services* services;
  explicit dynamic_memory(const block_range& range) : services(range.services) {
    thread_dynamic_shared = static_cast<unsigned char*>(services->take(range.shared_bytes + 64));
  }
  ~dynamic_memory() { services->give_back(thread_dynamic_shared); }
};

template <class... P, void (*kernel)(WEIR_BUILT_IN, P...), bool flat>
struct launcher<void (*)(WEIR_BUILT_IN, P...), kernel, flat> {
  static void run(const block_range& range, const void* const* arguments) {
    unpack(range, arguments, typename count_to<sizeof...(P)>::type{});
  }

  template <size_t... I>
  static inline void unpack(const block_range& range, const void* const* arguments, indices<I...>) {
    (void)arguments;
    blocks(range, parameter<P>(arguments[I]).value()...);
  }

  // By value: locals that no store of the kernel can change keep the loops simple.
  WEIR_FLATTEN static void blocks(const block_range& range, P... p) {
    const dim3 grid(range.grid[0], range.grid[1], range.grid[2]);
    const dim3 block(range.block[0], range.block[1], range.block[2]);
    const uint64_t last = range.last_block;
    uint3 at = {static_cast<uint32_t>(range.first_block % grid.x),
                static_cast<uint32_t>(range.first_block / grid.x % grid.y),
                static_cast<uint32_t>(range.first_block / grid.x / grid.y)};
    if (sets_thread_variables) {
      ::blockDim = block;
      ::gridDim = grid;
    }
    const dynamic_memory<uses_dynamic_array> shared(range);
    if (flat && !sets_thread_variables && range.block[1] * range.block[2] * range.grid[1] * range.grid[2] == 1 &&
        last * block.x <= 0x7fffffffu) {
      flat_row(static_cast<global_index>(range.first_block * block.x), static_cast<global_index>(last * block.x), block,
               grid, p...);
      return;
    }
    for (uint64_t n = range.first_block; n < last; ++n) {
      if (sets_thread_variables) ::blockIdx = at;
      if (at.x < (1u << 21) && block.x <= 1024) {
        near_threads(at, block, grid, p...);
      } else {
        far_threads(at, block, grid, p...);
      }
      if (++at.x == grid.x) {
        at.x = 0;
        if (++at.y == grid.y) {
          at.y = 0;
          ++at.z;
        }
      }
    }
  }

  // No pragma promises the vectorizer that threads are independent, though CUDA's rules would allow it: compilers take such
  // a promise to hold for a thread's own arrays, too, which all iterations keep in the same place. The compiler compares the
  // pointers at run time instead, once a row.
  //
  // GCC takes `data[i]` for consecutive memory only where it can see that i does not wrap around. So in the grid's first
  // 2^21 blocks, where nothing can wrap, the thread's number in the row of the grid is counted as a signed number. Clang
  // compiles a check that i does not wrap, and a cheaper one for an unsigned number.
  __attribute__((always_inline)) static inline void near_threads(uint3 at, dim3 block, dim3 grid, P&... p) {
    if (flat && !sets_thread_variables) {
      const global_index first = static_cast<global_index>(at.x * block.x);
      for (uint32_t row = 0; row < block.y * block.z; ++row)
        flat_row(first, first + static_cast<global_index>(block.x), block, grid, p...);
      return;
    }
    for (uint32_t z = 0; z < block.z; ++z) {
      for (uint32_t y = 0; y < block.y; ++y) {
        global_index global_x = static_cast<global_index>(at.x * block.x);
        for (uint32_t x = 0; x < block.x; ++x, ++global_x)
          thread(static_cast<uint32_t>(global_x), {x, y, z}, at, block, grid, p...);
      }
    }
  }

  WEIR_FLATTEN __attribute__((noinline)) static void flat_row(global_index first, global_index last, dim3 block, dim3 grid,
                                                              P... p) {
    for (global_index global_x = first; global_x < last; ++global_x) {
      kernel(static_cast<uint32_t>(global_x), uint3{0, 0, 0}, uint3{0, 0, 0}, block, grid, p...);
    }
  }

  __attribute__((noinline, cold)) static void far_threads(uint3 at, dim3 block, dim3 grid, P... p) {
    for (uint32_t z = 0; z < block.z; ++z) {
      for (uint32_t y = 0; y < block.y; ++y) {
        for (uint32_t x = 0; x < block.x; ++x) thread(at.x * block.x + x, {x, y, z}, at, block, grid, p...);
      }
    }
  }

  // `sets_thread_variables`: whether functions other than kernels use threadIdx and its like, which the rewriter knows.
  __attribute__((always_inline)) static inline void thread(uint32_t global_x, uint3 index, uint3 at, dim3 block, dim3 grid,
                                                           P&... p) {
    if (sets_thread_variables) {
      ::threadIdx = index;
      ::weir_global_x = global_x;
    }
    kernel(global_x, index, at, block, grid, p...);
  }
};

// A kernel whose threads work together: one call runs a block.
template <class... P, void (*kernel)(block&, P...), bool flat>
struct launcher<void (*)(block&, P...), kernel, flat> {
  static void run(const block_range& range, const void* const* arguments) {
    unpack(range, arguments, typename count_to<sizeof...(P)>::type{});
  }

  template <size_t... I>
  static inline void unpack(const block_range& range, const void* const* arguments, indices<I...>) {
    (void)arguments;
    block b(range);
    blocks(b, parameter<P>(arguments[I]).value()...);
  }

  WEIR_FLATTEN static void blocks(block& b, P... p) {
    const block_range& range = *b.range;
    const dim3 grid = b.grid;
    b.index = {static_cast<uint32_t>(range.first_block % grid.x), static_cast<uint32_t>(range.first_block / grid.x % grid.y),
               static_cast<uint32_t>(range.first_block / grid.x / grid.y)};
    if (sets_thread_variables) {
      ::blockDim = b.dim;
      ::gridDim = b.grid;
    }
    if (uses_dynamic_array) thread_dynamic_shared = b.dynamic_shared;
    // Several blocks of a row as one take longer steps through memory.
    const uint64_t threads = static_cast<uint64_t>(b.launched.x) * b.launched.y * b.launched.z;
    const uint64_t most = flat && !sets_thread_variables && threads < most_threads ? most_threads / threads : 1;
    for (uint64_t n = range.first_block, count = 1; n < range.last_block; n += count) {
      if (sets_thread_variables) ::blockIdx = b.index;
      count = range.last_block - n < most ? range.last_block - n : most;
      if (count > grid.x - b.index.x) count = grid.x - b.index.x;
      b.enter(static_cast<unsigned int>(count));
      kernel(b, p...);
      if (b.failed) return;
      b.index.x += static_cast<uint32_t>(count);
      if (b.index.x == b.grid.x) {
        b.index.x = 0;
        if (++b.index.y == grid.y) {
          b.index.y = 0;
          ++b.index.z;
        }
      }
    }
  }
};

template <class F, F kernel, bool flat, bool valid = rules<F>::returns_void && rules<F>::by_value && rules<F>::copyable>
struct recorder {
  static constexpr kernel_record record(const char*, uint32_t) { return {}; }
};
template <class... P, void (*kernel)(WEIR_BUILT_IN, P...), bool flat>
struct recorder<void (*)(WEIR_BUILT_IN, P...), kernel, flat, true> {
  static constexpr size_t sizes[] = {sizeof(P)..., 0};
  static constexpr kernel_record record(const char* name, uint32_t max_threads) {
    return {name, &launcher<void (*)(WEIR_BUILT_IN, P...), kernel, flat>::run, sizes, sizeof...(P), max_threads,
            kinds<P...>::known, kinds<P...>::floating, kinds<P...>::constant};
  }
};
template <class... P, void (*kernel)(WEIR_BUILT_IN, P...), bool flat>
constexpr size_t recorder<void (*)(WEIR_BUILT_IN, P...), kernel, flat, true>::sizes[];
template <class... P, void (*kernel)(block&, P...), bool flat>
struct recorder<void (*)(block&, P...), kernel, flat, true> {
  static constexpr size_t sizes[] = {sizeof(P)..., 0};
  static constexpr kernel_record record(const char* name, uint32_t max_threads) {
    return {name, &launcher<void (*)(block&, P...), kernel, flat>::run, sizes, sizeof...(P), max_threads,
            kinds<P...>::known, kinds<P...>::floating, kinds<P...>::constant};
  }
};
template <class... P, void (*kernel)(block&, P...), bool flat>
constexpr size_t recorder<void (*)(block&, P...), kernel, flat, true>::sizes[];

#undef WEIR_BUILT_IN

extern "C" {
// The section that the records' addresses are put in; absent where the source has no kernel.
extern const kernel_record* const __start_weir_kernels[] __attribute__((weak, visibility("hidden")));
extern const kernel_record* const __stop_weir_kernels[] __attribute__((weak, visibility("hidden")));
extern const module_record weir_host_module_4 __attribute__((visibility("default")));
extern const char weir_host_cpu_features[] __attribute__((visibility("default")));
const module_record weir_host_module_4 = {
    4, sizeof(kernel_record), __start_weir_kernels, __stop_weir_kernels};
const char weir_host_cpu_features[] = ""
#define WEIR_CPU_FEATURE(name) " " name
#ifdef __SSE3__
WEIR_CPU_FEATURE("pni")
#endif
#ifdef __SSSE3__
WEIR_CPU_FEATURE("ssse3")
#endif
#ifdef __SSE4_1__
WEIR_CPU_FEATURE("sse4_1")
#endif
#ifdef __SSE4_2__
WEIR_CPU_FEATURE("sse4_2")
#endif
#ifdef __POPCNT__
WEIR_CPU_FEATURE("popcnt")
#endif
#ifdef __AVX__
WEIR_CPU_FEATURE("avx")
#endif
#ifdef __AVX2__
WEIR_CPU_FEATURE("avx2")
#endif
#ifdef __FMA__
WEIR_CPU_FEATURE("fma")
#endif
#ifdef __F16C__
WEIR_CPU_FEATURE("f16c")
#endif
#ifdef __BMI__
WEIR_CPU_FEATURE("bmi1")
#endif
#ifdef __BMI2__
WEIR_CPU_FEATURE("bmi2")
#endif
#ifdef __LZCNT__
WEIR_CPU_FEATURE("abm")
#endif
#ifdef __MOVBE__
WEIR_CPU_FEATURE("movbe")
#endif
#ifdef __AVX512F__
WEIR_CPU_FEATURE("avx512f")
#endif
#ifdef __AVX512CD__
WEIR_CPU_FEATURE("avx512cd")
#endif
#ifdef __AVX512BW__
WEIR_CPU_FEATURE("avx512bw")
#endif
#ifdef __AVX512DQ__
WEIR_CPU_FEATURE("avx512dq")
#endif
#ifdef __AVX512VL__
WEIR_CPU_FEATURE("avx512vl")
#endif
#ifdef __AVX512VBMI__
WEIR_CPU_FEATURE("avx512vbmi")
#endif
#ifdef __AVX512VBMI2__
WEIR_CPU_FEATURE("avx512_vbmi2")
#endif
#ifdef __AVX512IFMA__
WEIR_CPU_FEATURE("avx512ifma")
#endif
#ifdef __AVX512VNNI__
WEIR_CPU_FEATURE("avx512_vnni")
#endif
#ifdef __AVX512BITALG__
WEIR_CPU_FEATURE("avx512_bitalg")
#endif
#ifdef __AVX512VPOPCNTDQ__
WEIR_CPU_FEATURE("avx512_vpopcntdq")
#endif
#ifdef __AVX512BF16__
WEIR_CPU_FEATURE("avx512_bf16")
#endif
#ifdef __AVX512FP16__
WEIR_CPU_FEATURE("avx512_fp16")
#endif
#ifdef __AVXVNNI__
WEIR_CPU_FEATURE("avx_vnni")
#endif
#ifdef __GFNI__
WEIR_CPU_FEATURE("gfni")
#endif
#ifdef __VAES__
WEIR_CPU_FEATURE("vaes")
#endif
#ifdef __ARM_FEATURE_DOTPROD
WEIR_CPU_FEATURE("asimddp")
#endif
#ifdef __ARM_FEATURE_SVE
WEIR_CPU_FEATURE("sve")
#endif
#ifdef __ARM_FEATURE_SVE2
WEIR_CPU_FEATURE("sve2")
#endif
;
#undef WEIR_CPU_FEATURE
}

}  // namespace weir_host
)weir";

}  // namespace weir::host
