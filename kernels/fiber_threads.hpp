// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Defines the entries (kernels/device_entries.hpp) for kernels whose threads are fibers. An entry that waits creates a
/// `Wait` and calls the worker. The worker runs other threads until the awaited ones arrive; the last one to arrive combines
/// the values of all. The text is compiled as C++14, 17 or 20.
///
/// `WEIR_FIBER(name)` is the name of an entry's definition. It is `__weir_NAME`, or, with the work-group pass,
/// `__weir_fiber_NAME`: in kernels that the pass refuses, it replaces the entries by these functions. `WEIR_FIBER_ENTRY`
/// precedes each definition.
namespace weir::kernels {

inline constexpr std::string_view fiber_threads = R"weir(
namespace weir_host {

// What a thread waits for: `Wait` in kernel_abi.hpp.
struct wait {
  enum kind_type : uint32_t { for_block, for_grid, for_lanes, for_active, for_step, for_turn, for_fence };
  const char* function;
  const char* file;
  uint32_t line;
  uint32_t kind;
  uint64_t named;
  const void* address;
  void (*combine)(wait* const* waits, uint32_t count);
  uint32_t thread;
};
struct fiber_kernel {
  uint32_t (*run_threads)(const fiber_kernel& kernel, void* fibers, const uint32_t* block, uint32_t first);
  void (*thread_index)(uint32_t* index);
  uint32_t warp_size;
};

struct fiber_launch : fiber_kernel {
  const block_range* range;
  const void* const* arguments;
};

WEIR_THREAD_VARIABLE void* fibers;
WEIR_THREAD_VARIABLE uint32_t started;  // how many threads of the block

__attribute__((unused)) static void thread_index(uint32_t* index) {
  index[0] = WEIR_THREAD(threadIdx).x;
  index[1] = WEIR_THREAD(threadIdx).y;
  index[2] = WEIR_THREAD(threadIdx).z;
}
// Runs a range of blocks. The caller has set `l.run_threads`.
__attribute__((unused)) static void run_on_fibers(const block_range& range, const void* const* arguments, fiber_launch& l) {
  WEIR_THREAD(blockDim) = dim3(range.block[0], range.block[1], range.block[2]);
  WEIR_THREAD(gridDim) = dim3(range.grid[0], range.grid[1], range.grid[2]);
  l.thread_index = &thread_index;
  l.warp_size = warpSize;
  l.range = &range;
  l.arguments = arguments;
  range.services->run_fibers(range, l);
  fibers = nullptr;
}
WEIR_ALWAYS_INLINE void enter_block(void* f, const uint32_t* block) {
  fibers = f;
  WEIR_THREAD(blockIdx) = {block[0], block[1], block[2]};
}

// The source location of the call that the thread is making. `number` distinguishes several calls on one line.
struct call_place {
  const char* function;
  const char* file;
  uint32_t line;
  size_t number;
};
WEIR_THREAD_VARIABLE const call_place* place;
WEIR_THREAD_VARIABLE const void* bottom;  // the frame of the function that calls the kernel

// Lanes that reach a line through different calls of its function are not together there. In optimized code, each of these
// calls has its own copy of the line, so the address distinguishes them. Otherwise the return addresses in the frames do.
WEIR_ALWAYS_INLINE uint64_t way_here(const void* address, const void* const* frame) {
  uint64_t way = (uint64_t)address;
#ifndef __OPTIMIZE__
  for (; (const void*)frame < bottom; frame = (const void* const*)*frame) way = way * 31 + (uint64_t)frame[1];
#endif
  (void)frame;
  return way;
}

__attribute__((noinline, unused)) static void meet(wait& w) {
  if (fibers == nullptr) return;  // the caller is no thread of a block, or is in a block that the work-group pass has formed
  const uint3 index = WEIR_THREAD(threadIdx);
  const call_place* const at = place;
  const void* const from = bottom;
  if (w.kind == wait::for_active)
    w.named = way_here(__builtin_return_address(0), (const void* const*)__builtin_frame_address(0));
  w.thread = (index.z * WEIR_THREAD(blockDim).y + index.y) * WEIR_THREAD(blockDim).x + index.x;
  started = services->wait(fibers, w, started);
  WEIR_THREAD(threadIdx) = index;
  place = at;
  bottom = from;
}

// Begin and end of the memory for the module's thread variables, which include the block's shared variables.
WEIR_THREAD_VARIABLE char* thread_memory[2];
__attribute__((noinline, unused)) static char* shared_memory() {
  if (thread_memory[0] == nullptr) services->thread_memory(thread_memory);
  return thread_memory[0];
}
// A thread's own variables are in the frames from its kernel's to that of its last call.
__attribute__((noinline, unused)) static bool is_local(const void* p) {
  const size_t last = (size_t)__builtin_frame_address(0);
  return (size_t)p - last < (size_t)bottom - last;
}

// `spin` is called where a thread may be polling memory until another thread writes it. Every 256th call lets other threads
// run: often enough that a thousand spinning threads do not take long, and rarely enough that loops of atomics stay fast.
WEIR_THREAD_VARIABLE uint32_t spins;
__attribute__((noinline, cold, unused)) static void give_turn() {
  wait w = {"", "", 0, wait::for_turn, 0, nullptr, nullptr, 0};
  meet(w);
}
WEIR_ALWAYS_INLINE void spin() {
  if (__builtin_expect(++spins % 256 == 0, 0)) give_turn();
}

WEIR_ALWAYS_INLINE wait wait_here(uint32_t kind, uint64_t named, void (*combine)(wait* const*, uint32_t)) {
  const call_place& at = *place;
  return {at.function, at.file, at.line, kind, named, (const void*)at.number, combine, 0};
}
WEIR_ALWAYS_INLINE wait wait_for_lanes(uint64_t mask, void (*combine)(wait* const*, uint32_t)) {
  return wait_here(mask == 0 ? wait::for_active : wait::for_lanes, mask, combine);
}

struct vote : wait {
  bool predicate;
  uint64_t yes;
  WEIR_ALWAYS_INLINE vote(const wait& w, bool p) : wait(w), predicate(p), yes(0) { meet(*this); }
  // Gives each of them the bits of those that agree, or their number.
  template <bool as_bits>
  static void combine_votes(wait* const* waits, uint32_t count) {
    uint64_t those = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (waits[i] != nullptr && static_cast<vote*>(waits[i])->predicate) those += as_bits ? (uint64_t)1 << i : 1;
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (waits[i] != nullptr) static_cast<vote*>(waits[i])->yes = those;
    }
  }
};

template <class T>
struct exchange : wait {
  T value;
  int from;
  WEIR_ALWAYS_INLINE exchange(uint64_t mask, T v, int lane)
      : wait(wait_for_lanes(mask, &combine_lanes)), value(v), from(lane) {
    meet(*this);
  }
  // A lane that does not make the call counts as zero, as on NVIDIA's and AMD's GPUs. Kernels that sum over only some lanes
  // of a warp rely on this.
  static void combine_lanes(wait* const* waits, uint32_t count) {
    T values[warpSize];
    for (uint32_t l = 0; l < count; ++l) values[l] = waits[l] != nullptr ? static_cast<exchange*>(waits[l])->value : 0;
    for (uint32_t l = 0; l < count; ++l) {
      if (waits[l] == nullptr) continue;
      exchange& mine = *static_cast<exchange*>(waits[l]);
      if ((uint32_t)mine.from < (uint32_t)warpSize) mine.value = values[mine.from];
    }
  }
};

WEIR_ALWAYS_INLINE unsigned int on_axis(int axis, unsigned int x, unsigned int y, unsigned int z) {
  return axis == 0 ? x : axis == 1 ? y : z;
}
#define WEIR_ON_AXIS(name) \
  weir_host::on_axis(axis, WEIR_THREAD(name).x, WEIR_THREAD(name).y, WEIR_THREAD(name).z)

}  // namespace weir_host

extern "C" {
WEIR_FIBER_ENTRY unsigned int WEIR_FIBER(tid)(int axis) noexcept { return WEIR_ON_AXIS(threadIdx); }
WEIR_FIBER_ENTRY unsigned int WEIR_FIBER(ctaid)(int axis) noexcept { return WEIR_ON_AXIS(blockIdx); }
WEIR_FIBER_ENTRY unsigned int WEIR_FIBER(ntid)(int axis) noexcept { return WEIR_ON_AXIS(blockDim); }
WEIR_FIBER_ENTRY unsigned int WEIR_FIBER(nctaid)(int axis) noexcept { return WEIR_ON_AXIS(gridDim); }
WEIR_FIBER_ENTRY int WEIR_FIBER(lane)() noexcept {
  return (int)(((WEIR_FIBER(tid)(2) * WEIR_FIBER(ntid)(1) + WEIR_FIBER(tid)(1)) * WEIR_FIBER(ntid)(0) + WEIR_FIBER(tid)(0)) %
               (unsigned int)warpSize);
}
WEIR_FIBER_ENTRY char* WEIR_FIBER(shared)() noexcept { return weir_host::shared_memory(); }
WEIR_FIBER_ENTRY bool WEIR_FIBER(is_shared)(const void* p) noexcept {
  const size_t begin = (size_t)weir_host::shared_memory();
  return (size_t)p - begin < (size_t)weir_host::thread_memory[1] - begin;
}
WEIR_FIBER_ENTRY bool WEIR_FIBER(is_local)(const void* p) noexcept { return weir_host::is_local(p); }
WEIR_FIBER_ENTRY void WEIR_FIBER(barrier)() noexcept {
  weir_host::wait w = weir_host::wait_here(weir_host::wait::for_block, 0, nullptr);
  weir_host::meet(w);
}
WEIR_FIBER_ENTRY int WEIR_FIBER(barrier_count)(int predicate) noexcept {
  using weir_host::vote;
  return (int)vote(weir_host::wait_here(vote::for_block, 0, &vote::combine_votes<false>), predicate != 0).yes;
}
WEIR_FIBER_ENTRY void WEIR_FIBER(grid_barrier)() noexcept {
  weir_host::wait w = weir_host::wait_here(weir_host::wait::for_grid, 0, nullptr);
  weir_host::meet(w);
}
WEIR_FIBER_ENTRY void WEIR_FIBER(warp_barrier)(unsigned long long mask) noexcept {
  weir_host::wait w = weir_host::wait_for_lanes(mask, nullptr);
  weir_host::meet(w);
}
WEIR_FIBER_ENTRY unsigned long long WEIR_FIBER(ballot)(unsigned long long mask, int predicate) noexcept {
  using weir_host::vote;
  return vote(weir_host::wait_for_lanes(mask, &vote::combine_votes<true>), predicate != 0).yes;
}
WEIR_FIBER_ENTRY unsigned long long WEIR_FIBER(active)() noexcept { return WEIR_FIBER(ballot)(0, 1); }
WEIR_FIBER_ENTRY unsigned int WEIR_FIBER(shuffle32)(unsigned long long mask, unsigned int value,
                                                            int source_lane) noexcept {
  return weir_host::exchange<unsigned int>(mask, value, source_lane).value;
}
WEIR_FIBER_ENTRY unsigned long long WEIR_FIBER(shuffle64)(unsigned long long mask, unsigned long long value,
                                                          int source_lane) noexcept {
  return weir_host::exchange<unsigned long long>(mask, value, source_lane).value;
}
WEIR_FIBER_ENTRY void WEIR_FIBER(turn)() noexcept { weir_host::spin(); }
}
#undef WEIR_ON_AXIS
#ifndef WEIR_SET_PLACE
#define WEIR_SET_PLACE(name, file, line, number)                         \
  const weir_host::call_place weir_place = {name, file, line, number};   \
  weir_host::place = &weir_place
#endif
)weir";

/// Functions that the compiler calls at memory accesses in a source built with -fsanitize=thread. At a volatile access the
/// lanes of a warp synchronize, as in lockstep. The other functions do nothing except the access itself.
inline constexpr std::string_view fiber_steps = R"weir(
#ifdef __clang__
#define WEIR_STEP __attribute__((noinline, disable_sanitizer_instrumentation, visibility("hidden"), used))
#else
#define WEIR_STEP __attribute__((noinline, no_sanitize("thread"), visibility("hidden"), used))
#endif
namespace weir_host {
WEIR_STEP void step(const void* address) {
  wait w = {"a volatile access", "", 0, wait::for_step, 0, address, nullptr, 0};
  meet(w);
}
}  // namespace weir_host
extern "C" {
#define WEIR_ACCESSES(bytes)                                                                                            \
  WEIR_STEP void __tsan_read##bytes(void*) {}                                                                           \
  WEIR_STEP void __tsan_write##bytes(void*) {}                                                                          \
  WEIR_STEP void __tsan_read_write##bytes(void*) {}                                                                     \
  WEIR_STEP void __tsan_unaligned_read##bytes(void*) {}                                                                 \
  WEIR_STEP void __tsan_unaligned_write##bytes(void*) {}                                                                \
  WEIR_STEP void __tsan_unaligned_read_write##bytes(void*) {}                                                           \
  WEIR_STEP void __tsan_volatile_read##bytes(void*) { weir_host::step(__builtin_return_address(0)); }                   \
  WEIR_STEP void __tsan_volatile_write##bytes(void*) { weir_host::step(__builtin_return_address(0)); }                  \
  WEIR_STEP void __tsan_unaligned_volatile_read##bytes(void*) { weir_host::step(__builtin_return_address(0)); }         \
  WEIR_STEP void __tsan_unaligned_volatile_write##bytes(void*) { weir_host::step(__builtin_return_address(0)); }
WEIR_ACCESSES(1) WEIR_ACCESSES(2) WEIR_ACCESSES(4) WEIR_ACCESSES(8) WEIR_ACCESSES(16)
#undef WEIR_ACCESSES
WEIR_STEP void __tsan_init() {}
WEIR_STEP void __tsan_func_entry(void*) {}
WEIR_STEP void __tsan_func_exit() {}
WEIR_STEP void __tsan_read_range(void*, unsigned long) {}
WEIR_STEP void __tsan_write_range(void*, unsigned long) {}
WEIR_STEP void __tsan_vptr_update(void*, void*) {}
WEIR_STEP void __tsan_vptr_read(void*) {}
WEIR_STEP void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
WEIR_STEP void __tsan_atomic_signal_fence(int) {}
#define WEIR_UPDATE(bits, type, name)                                                                                   \
  WEIR_STEP type __tsan_atomic##bits##_fetch_##name(volatile void* p, type v, int) {                                    \
    return __atomic_fetch_##name((volatile type*)p, v, __ATOMIC_SEQ_CST);                                               \
  }
#define WEIR_ATOMICS(bits, type)                                                                                        \
  WEIR_STEP type __tsan_atomic##bits##_load(const volatile void* p, int) {                                              \
    return __atomic_load_n((const volatile type*)p, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                                     \
  WEIR_STEP void __tsan_atomic##bits##_store(volatile void* p, type v, int) {                                           \
    __atomic_store_n((volatile type*)p, v, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                                     \
  WEIR_STEP type __tsan_atomic##bits##_exchange(volatile void* p, type v, int) {                                        \
    return __atomic_exchange_n((volatile type*)p, v, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                                     \
  WEIR_STEP bool __tsan_atomic##bits##_compare_exchange_strong(volatile void* p, void* old, type v, int, int) {         \
    return __atomic_compare_exchange_n((volatile type*)p, (type*)old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }                                                                                                                     \
  WEIR_STEP bool __tsan_atomic##bits##_compare_exchange_weak(volatile void* p, void* old, type v, int, int) {           \
    return __atomic_compare_exchange_n((volatile type*)p, (type*)old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);    \
  }                                                                                                                     \
  WEIR_STEP type __tsan_atomic##bits##_compare_exchange_val(volatile void* p, type old, type v, int, int) {             \
    __atomic_compare_exchange_n((volatile type*)p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                 \
    return old;                                                                                                         \
  }                                                                                                                     \
  WEIR_UPDATE(bits, type, add) WEIR_UPDATE(bits, type, sub) WEIR_UPDATE(bits, type, and) WEIR_UPDATE(bits, type, or)    \
  WEIR_UPDATE(bits, type, xor) WEIR_UPDATE(bits, type, nand)
WEIR_ATOMICS(8, unsigned char) WEIR_ATOMICS(16, unsigned short) WEIR_ATOMICS(32, unsigned int)
WEIR_ATOMICS(64, unsigned long)
#undef WEIR_ATOMICS
#undef WEIR_UPDATE
}
#undef WEIR_STEP
)weir";

}  // namespace weir::kernels
