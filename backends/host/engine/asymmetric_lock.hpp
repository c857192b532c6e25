// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>

#include "core/base/spin_lock.hpp"

namespace weir::host {

/// An asymmetric lock: cheap for its owner, a single thread at a time that takes it often, and costly, by membarrier(2), for
/// other threads, which rarely take it. An atomic exchange would cost the owner a fifth of an empty host function; this
/// costs two stores and a load.
class AsymmetricLock {
 public:
  /// Called by the owner.
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

  /// Called by any other thread: returns when the owner is outside, and keeps it out until `open`. Returns false and does
  /// nothing if the system lacks membarrier(2).
  bool close() noexcept;
  void open() noexcept;

 private:
  std::atomic<bool> inside_{false}, closed_{false};
  SpinLock closing_;
};

}  // namespace weir::host
