// SPDX-License-Identifier: Apache-2.0
#pragma once
#line 4 "<weir prelude>"

// The part of a prelude of device code that the tests of the work-group pass need. Each value that depends on the thread is
// a call of an entry, as in the library's own prelude (kernels/device_entries.hpp).
#define __global__ __attribute__((global)) __attribute__((annotate("weir.kernel")))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared)) __attribute__((annotate("weir.shared")))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...)
#define __forceinline__ __inline__ __attribute__((always_inline))
#define WEIR_TEST_DEVICE static __device__ __forceinline__
typedef __SIZE_TYPE__ size_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINT32_TYPE__ uint32_t;

extern "C" {
__device__ void* malloc(size_t);
__device__ void free(void*);
__device__ __attribute__((const)) float sqrtf(float) noexcept;
__device__ __attribute__((const)) float expf(float) noexcept;
__device__ __attribute__((const)) float fmaxf(float, float) noexcept;
__device__ __attribute__((const)) float fminf(float, float) noexcept;
__device__ __attribute__((const)) unsigned __weir_tid(int axis) noexcept;
__device__ __attribute__((const)) unsigned __weir_ctaid(int axis) noexcept;
__device__ __attribute__((const)) unsigned __weir_ntid(int axis) noexcept;
__device__ __attribute__((const)) unsigned __weir_nctaid(int axis) noexcept;
__device__ __attribute__((const)) int __weir_lane() noexcept;
__device__ __attribute__((convergent)) void __weir_barrier() noexcept;
__device__ __attribute__((convergent)) int __weir_barrier_count(int predicate) noexcept;
__device__ __attribute__((convergent)) uint64_t __weir_active() noexcept;
__device__ __attribute__((convergent)) void __weir_warp_barrier(uint64_t mask) noexcept;
__device__ __attribute__((convergent)) uint64_t __weir_ballot(uint64_t mask, int predicate) noexcept;
__device__ __attribute__((convergent)) uint32_t __weir_shuffle32(uint64_t mask, uint32_t value, int lane) noexcept;
__device__ __attribute__((convergent)) uint64_t __weir_shuffle64(uint64_t mask, uint64_t value, int lane) noexcept;
}

#define WEIR_TEST_TRIPLE(type, entry)                        \
  struct type {                                              \
    __declspec(property(get = get_x)) unsigned x;            \
    __declspec(property(get = get_y)) unsigned y;            \
    __declspec(property(get = get_z)) unsigned z;            \
    WEIR_TEST_DEVICE unsigned get_x() { return entry(0); }   \
    WEIR_TEST_DEVICE unsigned get_y() { return entry(1); }   \
    WEIR_TEST_DEVICE unsigned get_z() { return entry(2); }   \
  };
WEIR_TEST_TRIPLE(weir_thread_index, __weir_tid)
WEIR_TEST_TRIPLE(weir_block_index, __weir_ctaid)
WEIR_TEST_TRIPLE(weir_block_size, __weir_ntid)
WEIR_TEST_TRIPLE(weir_grid_size, __weir_nctaid)
extern const __device__ __attribute__((weak)) weir_thread_index threadIdx;
extern const __device__ __attribute__((weak)) weir_block_index blockIdx;
extern const __device__ __attribute__((weak)) weir_block_size blockDim;
extern const __device__ __attribute__((weak)) weir_grid_size gridDim;
constexpr int warpSize = 32;

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

WEIR_TEST_DEVICE void __syncthreads() { __weir_barrier(); }
WEIR_TEST_DEVICE int __syncthreads_count(int predicate) { return __weir_barrier_count(predicate); }
WEIR_TEST_DEVICE void __syncwarp(unsigned mask = ~0u) { __weir_warp_barrier(mask); }
WEIR_TEST_DEVICE unsigned __activemask() { return (unsigned)__weir_active(); }
WEIR_TEST_DEVICE unsigned __ballot_sync(unsigned mask, int p) { return (unsigned)__weir_ballot(mask, p); }
WEIR_TEST_DEVICE int __any_sync(unsigned mask, int p) { return __weir_ballot(mask, p) != 0; }
WEIR_TEST_DEVICE int __all_sync(unsigned mask, int p) { return __weir_ballot(mask, p == 0) == 0; }

template <class T>
WEIR_TEST_DEVICE T weir_test_shuffle(unsigned mask, T value, int lane) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, __weir_shuffle64(mask, __builtin_bit_cast(uint64_t, value), lane));
  } else {
    return __builtin_bit_cast(T, __weir_shuffle32(mask, __builtin_bit_cast(uint32_t, value), lane));
  }
}
template <class T>
WEIR_TEST_DEVICE T __shfl_sync(unsigned mask, T v, int by, int width = 32) {
  return weir_test_shuffle(mask, v, (__weir_lane() & ~(width - 1)) + (by & (width - 1)));
}
template <class T>
WEIR_TEST_DEVICE T __shfl_up_sync(unsigned mask, T v, int by, int width = 32) {
  const int lane = __weir_lane();
  return weir_test_shuffle(mask, v, (lane & (width - 1)) >= by ? lane - by : lane);
}
template <class T>
WEIR_TEST_DEVICE T __shfl_down_sync(unsigned mask, T v, int by, int width = 32) {
  const int lane = __weir_lane();
  return weir_test_shuffle(mask, v, (lane & (width - 1)) + by < width ? lane + by : lane);
}
template <class T>
WEIR_TEST_DEVICE T __shfl_xor_sync(unsigned mask, T v, int by, int width = 32) {
  const int lane = __weir_lane();
  return weir_test_shuffle(mask, v, (lane ^ by) <= (lane | (width - 1)) ? lane ^ by : lane);
}
WEIR_TEST_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
WEIR_TEST_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
WEIR_TEST_DEVICE float __expf(float x) { return expf(x); }

template <class T>
WEIR_TEST_DEVICE T atomicAdd(T* p, T v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
template <class T>
WEIR_TEST_DEVICE T atomicMax(T* p, T v) {
  return __atomic_fetch_max(p, v, __ATOMIC_RELAXED);
}
template <class T>
WEIR_TEST_DEVICE T atomicExch(T* p, T v) {
  return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);
}
template <class T>
WEIR_TEST_DEVICE T atomicCAS(T* p, T expected, T v) {
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
