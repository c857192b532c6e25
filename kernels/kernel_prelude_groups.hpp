// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Text for kernels whose blocks the work-group pass forms (kernels/workgroup). The entries have no definition here. The
/// pass finds their calls, and the functions annotated "weir.run". It turns the code of these functions, which is for one
/// thread, into code for a range of blocks. A kernel that the pass refuses becomes a function for one thread, which
/// `__weir_fiber_run` runs on fibers. Until the pass has run, nothing calls the functions for fibers. So `WEIR_KEPT`, an
/// attribute for the compiler, keeps the compiler from removing them.
namespace weir::host {

inline constexpr std::string_view prelude_groups = R"weir(
namespace weir_host {

struct fiber_launch : fiber_kernel {
  const block_range* range;
  const void* const* arguments;
  void (*thread)(const block_range&, const void* const*);
};
static void fiber_thread_index(uint32_t* index) {
  index[0] = weir_threadIdx.x;
  index[1] = weir_threadIdx.y;
  index[2] = weir_threadIdx.z;
}
static uint32_t run_fiber_threads(const fiber_kernel& l, void* f, const uint32_t* block, uint32_t first) {
  const fiber_launch& launch = static_cast<const fiber_launch&>(l);
  const dim3 size = weir_blockDim;
  const uint32_t count = size.x * size.y * size.z;
  fibers = f;
  bottom = __builtin_frame_address(0);
  weir_blockIdx = {block[0], block[1], block[2]};
  // If the thread has waited, other threads were started meanwhile, and `started` differs from n + 1.
  for (uint32_t n = first; n < count; n = started) {
    weir_threadIdx = {n % size.x, n / size.x % size.y, n / size.x / size.y};
    started = n + 1;
    launch.thread(*launch.range, launch.arguments);
  }
  return count;
}

extern "C" {
#define WEIR_FOR_PASS inline WEIR_DEVICE WEIR_KEPT __attribute__((visibility("hidden")))
WEIR_FOR_PASS void __weir_fiber_run(const block_range& range, const void* const* arguments,
                                    void (*thread)(const block_range&, const void* const*)) {
  weir_blockDim = dim3(range.block[0], range.block[1], range.block[2]);
  weir_gridDim = dim3(range.grid[0], range.grid[1], range.grid[2]);
  fiber_launch l;
  l.run_threads = &run_fiber_threads;
  l.thread_index = &fiber_thread_index;
  l.warp_size = warpSize;
  l.range = &range;
  l.arguments = arguments;
  l.thread = thread;
  range.services->run_fibers(range, l);
  fibers = nullptr;
}
// The pass inserts a call of this before each call of an entry.
WEIR_FIBER_ENTRY void __weir_fiber_at(const call_place* at) { place = at; }
// Called before an atomic access or a fence.
WEIR_FIBER_ENTRY void __weir_fiber_spin() { spin(); }
// Called before a volatile access, at which the lanes of a warp synchronize.
WEIR_FOR_PASS __attribute__((noinline)) void __weir_fiber_step() {
  wait w = {"a volatile access", "", 0, wait::for_step, 0, __builtin_return_address(0), nullptr, 0};
  meet(w);
}
WEIR_DEVICE __attribute__((used)) extern const int __weir_fiber_warp_size = warpSize;
#undef WEIR_FOR_PASS
}

template <class... P>
struct rules<void (*)(P...)> : rules_of_parameters<P...> {};

// In CUDA a template argument cannot be a kernel, so a kernel is called through a constant that contains its address.
template <class F, F const* kernel>
struct group_launcher;
template <class... P, void (*const* kernel)(P...)>
struct group_launcher<void (*)(P...), kernel> {
  __attribute__((annotate("weir.run"))) static void run(const block_range&, const void* const* arguments) {
    thread(arguments, typename count_to<sizeof...(P)>::type{});
  }
  template <size_t... I>
  static inline void thread(const void* const* arguments, indices<I...>) {
    (void)arguments;
    (*kernel)(parameter<P>(arguments[I]).value()...);
  }
};

template <class F, F const* kernel, bool valid = rules<F>::returns_void && rules<F>::by_value && rules<F>::copyable>
struct recorder {
  static constexpr kernel_record record(const char*, uint32_t) { return {}; }
};
template <class... P, void (*const* kernel)(P...)>
struct recorder<void (*)(P...), kernel, true> {
  WEIR_DEVICE static constexpr size_t sizes[] = {sizeof(P)..., 0};
  static constexpr kernel_record record(const char* name, uint32_t max_threads) {
    return {name, &group_launcher<void (*)(P...), kernel>::run, sizes, sizeof...(P), max_threads,
            kinds<P...>::known, kinds<P...>::floating, kinds<P...>::constant, 0, 0, tier_workgroup};
  }
};
template <class... P, void (*const* kernel)(P...)>
WEIR_DEVICE constexpr size_t recorder<void (*)(P...), kernel, true>::sizes[];

}  // namespace weir_host
)weir";

}  // namespace weir::host
