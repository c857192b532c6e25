// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "core/base/spin_lock.hpp"

namespace weir::host {

/// An asymmetric lock: cheap for its owner, one thread at a time that takes it all the time, and membarrier(2) for others,
/// which rarely do. An atomic exchange would cost the owner a fifth of what an empty host function costs; here it pays two
/// stores and a load.
class AsymmetricLock {
 public:
  /// By the owner.
  void enter() noexcept {
    for (;;) {
      inside_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // `close` makes the processor keep this order
      if (!closed_.load(std::memory_order_acquire)) [[likely]]
        return;
      inside_.store(false, std::memory_order_release);
      while (closed_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void leave() noexcept { inside_.store(false, std::memory_order_release); }

  /// By any other thread: returns when the owner is outside, and keeps it out until `open`. False, and nothing done, where
  /// the system has no membarrier(2).
  bool close() noexcept;
  void open() noexcept;

 private:
  std::atomic<bool> inside_{false}, closed_{false};
  SpinLock closing_;
};

}  // namespace weir::host
