// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "core/spin_lock.hpp"

/// A section that one thread passes all the time and others close now and then. A lock would cost the first thread an atomic
/// exchange each time, a fifth of what an empty host function costs; here it pays two stores and a load.
namespace weir::host {

class Passage {
 public:
  /// Called by the thread that passes: one at a time.
  void enter() noexcept {
    for (;;) {
      inside_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);  // `close` makes the processor keep this order, too
      if (!closed_.load(std::memory_order_acquire)) [[likely]]
        return;
      inside_.store(false, std::memory_order_release);
      while (closed_.load(std::memory_order_relaxed)) std::this_thread::yield();
    }
  }
  void leave() noexcept { inside_.store(false, std::memory_order_release); }

  /// Returns when nobody is inside, and lets nobody in until `open`. False, and nothing done, where the system cannot do
  /// that. Any thread.
  bool close() noexcept;
  void open() noexcept;

 private:
  std::atomic<bool> inside_{false}, closed_{false};
  SpinLock closing_;
};

}  // namespace weir::host
