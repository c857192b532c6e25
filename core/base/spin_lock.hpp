// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

namespace weir {

/// Tells the processor that the thread is spinning.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A lock of one byte for sections of a few instructions: taken and let go with one atomic exchange, and small enough for
/// objects that exist in great numbers.
class SpinLock {
 public:
  void lock() noexcept {
    int tries = 0;
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) {
        // The holder may have lost its core: let it run rather than wait for it to.
        if (++tries < 64) {
          spin_pause();
        } else {
          std::this_thread::yield();
        }
      }
    }
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace weir
