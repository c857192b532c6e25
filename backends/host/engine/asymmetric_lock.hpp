// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "core/base/spin_lock.hpp"

namespace weir::host {

/// An asymmetric lock. It is cheap for its owner, one thread at a time that takes it often. It is expensive for other
/// threads, which take it rarely and call membarrier(2). An atomic exchange would cost the owner a fifth of the time of an
/// empty host function; this lock costs the owner two stores and a load.
class AsymmetricLock {
 public:
  /// Takes the lock. Called by the owner only.
  void enter() noexcept {
    for (;;) {
      inside_.store(true, std::memory_order_relaxed);
      // Keeps the compiler from reordering; `close` makes the processor keep the order as well.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (!closed_.load(std::memory_order_acquire)) [[likely]]
        return;
      inside_.store(false, std::memory_order_release);
      while (closed_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void leave() noexcept { inside_.store(false, std::memory_order_release); }

  /// Called by other threads. Returns when the owner is outside, and keeps it outside until `open`. Returns false and does
  /// nothing if the system lacks membarrier(2).
  bool close() noexcept;
  void open() noexcept;

 private:
  std::atomic<bool> inside_{false}, closed_{false};
  SpinLock closing_;
};

}  // namespace weir::host
