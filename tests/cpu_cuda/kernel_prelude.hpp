// SPDX-License-Identifier: Apache-2.0
#pragma once

// The prelude of each source that nvrtc.cpp compiles. It defines the part of CUDA C++ that the tests' kernels use. The
// threads of a block run one after another, or as fibers if the source has barriers.

#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel_abi.hpp"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static thread_local
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace cpu_cuda {

static thread_local uint3 thread_index, block_index;
static thread_local dim3 block_size, grid_size;
static thread_local std::vector<char> dynamic_shared;

/// Threads of a block as fibers, which a barrier switches between.
struct Fibers {
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    uint3 index{};
    bool is_done = false;
  };
  std::vector<Fiber> fibers;
  ucontext_t caller{};
  Fiber* running = nullptr;
  void (*call)(void*) = nullptr;
  void* data = nullptr;
  static inline thread_local Fibers* current = nullptr;

  static void enter() {
    Fibers& self = *current;
    self.call(self.data);
    self.running->is_done = true;
    swapcontext(&self.running->context, &self.caller);
  }
  void run(unsigned count) {
    constexpr std::size_t stack_size = 64 << 10;
    current = this;
    fibers.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      Fiber& fiber = fibers[i];
      fiber.index = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
      fiber.stack = std::make_unique<char[]>(stack_size);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = stack_size;
      makecontext(&fiber.context, &Fibers::enter, 0);
    }
    for (bool any = true; any;) {
      any = false;
      for (Fiber& fiber : fibers) {
        if (fiber.is_done) continue;
        any = true;
        running = &fiber;
        thread_index = fiber.index;
        swapcontext(&caller, &fiber.context);
      }
    }
    current = nullptr;
  }
  static void barrier() { swapcontext(&current->running->context, &current->caller); }
};

template <bool has_barriers, class F>
void for_all_threads(const LaunchShape& shape, F call) {
  grid_size = {shape.grid[0], shape.grid[1], shape.grid[2]};
  block_size = {shape.block[0], shape.block[1], shape.block[2]};
  dynamic_shared.assign(shape.shared_bytes + 16, 0);
  for (unsigned z = 0; z < shape.grid[2]; ++z) {
    for (unsigned y = 0; y < shape.grid[1]; ++y) {
      for (unsigned x = 0; x < shape.grid[0]; ++x) {
        block_index = {x, y, z};
        if constexpr (has_barriers) {
          Fibers fibers;
          fibers.call = [](void* f) { (*static_cast<F*>(f))(); };
          fibers.data = &call;
          fibers.run(shape.block[0] * shape.block[1] * shape.block[2]);
        } else {
          for (unsigned k = 0; k < shape.block[2]; ++k) {
            for (unsigned j = 0; j < shape.block[1]; ++j) {
              for (unsigned i = 0; i < shape.block[0]; ++i) {
                thread_index = {i, j, k};
                call();
              }
            }
          }
        }
      }
    }
  }
}

template <auto function, bool has_barriers>
struct Kernel;
template <class... A, void (*function)(A...), bool has_barriers>
struct Kernel<function, has_barriers> {
  static constexpr std::size_t sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
  template <std::size_t... i>
  static void run(const LaunchShape& shape, void** arguments, std::index_sequence<i...>) {
    for_all_threads<has_barriers>(shape, [&] { function(*static_cast<std::remove_cvref_t<A>*>(arguments[i])...); });
  }
  static void launch(const LaunchShape& shape, void** arguments) {
    run(shape, arguments, std::make_index_sequence<sizeof...(A)>());
  }
  static constexpr KernelDescription describe(unsigned max_threads) { return {&launch, sizeof...(A), sizes, max_threads}; }
  static KernelInstance instance() { return {reinterpret_cast<const void*>(function), describe(1024)}; }
};

}  // namespace cpu_cuda

#define threadIdx ::cpu_cuda::thread_index
#define blockIdx ::cpu_cuda::block_index
#define blockDim ::cpu_cuda::block_size
#define gridDim ::cpu_cuda::grid_size

template <class T>
T atomicAdd(T* where, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*where).fetch_add(value);
}
template <class T>
T atomicExch(T* where, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*where).exchange(value);
}
template <class T>
T atomicMax(T* where, std::type_identity_t<T> value) {
  T before = std::atomic_ref<T>(*where).load();
  while (before < value && !std::atomic_ref<T>(*where).compare_exchange_weak(before, value)) {
  }
  return before;
}
inline void __syncthreads() { ::cpu_cuda::Fibers::barrier(); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __nanosleep(unsigned) { std::this_thread::sleep_for(std::chrono::microseconds(20)); }
inline long long clock64() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
