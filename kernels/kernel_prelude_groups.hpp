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

struct group_launch : fiber_launch {
  void (*thread)(const block_range&, const void* const*);
};
static uint32_t run_fiber_threads(const fiber_kernel& l, void* f, const uint32_t* block, uint32_t first) {
  const group_launch& launch = static_cast<const group_launch&>(l);
  const dim3 size = weir_blockDim;
  const uint32_t count = size.x * size.y * size.z;
  bottom = __builtin_frame_address(0);
  enter_block(f, block);
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
  group_launch l;
  l.run_threads = &run_fiber_threads;
  l.thread = thread;
  run_on_fibers(range, arguments, l);
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
// Called before a fence of a whole program: what a lane of the warp writes behind it follows what all wrote before it.
WEIR_FOR_PASS __attribute__((noinline)) void __weir_fiber_fence() {
  spin();
  wait w = {"a fence", "", 0, wait::for_fence, 0, nullptr, nullptr, 0};
  meet(w);
}
WEIR_DEVICE __attribute__((used)) extern const int __weir_fiber_warp_size = warpSize;
// In a block that the pass has formed, these report that a call names lanes which do not make it, and that threads wait at
// different barriers. `states`: for each thread, the number of the region that it waits to enter, or -1 if it has returned.
// `texts`: for the barrier of each region, its place, its function, and both as one text.
#define WEIR_REPORT WEIR_FOR_PASS __attribute__((used, noinline, cold))
WEIR_REPORT void __weir_fiber_report_lanes(const block_range& range, uint32_t x, uint32_t y, uint32_t z, const char* place,
                                           const char* function, uint32_t thread, uint32_t missing) {
  range.services->fail(range.launch, {place, function, {x, y, z}, thread, 0, 0, missing, nullptr});
}
WEIR_REPORT void __weir_fiber_report_barriers(const block_range& range, uint32_t x, uint32_t y, uint32_t z,
                                              const char* const* texts, const int32_t* states, uint64_t threads,
                                              int32_t first, int32_t last) {
  uint32_t here = 0, expected = 0;
  for (uint64_t t = 0; t < threads; ++t) here += states[t] == first, expected += states[t] >= 0;
  range.services->fail(range.launch, {texts[3 * first], texts[3 * first + 1], {x, y, z}, 0, here, expected, 0,
                                      texts[3 * last + 2]});
}
#undef WEIR_REPORT
#undef WEIR_FOR_PASS
}

template <class... P, void (*const* kernel)(P...)>
struct launcher<void (*)(P...), kernel> {
  __attribute__((annotate("weir.run"))) static void run(const block_range&, const void* const* arguments) {
    thread(arguments, typename count_to<sizeof...(P)>::type{});
  }
  template <size_t... I>
  static inline void thread(const void* const* arguments, indices<I...>) {
    (void)arguments;
    (*kernel)(parameter<P>(arguments[I]).value()...);
  }
};

}  // namespace weir_host
)weir";

}  // namespace weir::host
