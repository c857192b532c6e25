// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

/// `SpinLock`: a lock of one byte.
namespace weir {

/// Reduces the cost of a polling loop: the processor's pause instruction.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A one-byte lock for critical sections of a few instructions, in objects that exist in great numbers. Locking costs one
/// atomic exchange.
class SpinLock {
 public:
  void lock() noexcept {
    int tries = 0;
    while (held_.exchange(true, std::memory_order_acquire)) {
      while (held_.load(std::memory_order_relaxed)) {
        // The thread that holds the lock may not be running: yield so that it can run.
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
