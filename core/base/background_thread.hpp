// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "weir/plugin/support.hpp"

/// `BackgroundThread`: a thread that starts with the first work and stops when the process ends.
namespace weir::detail {

/// A thread of a static object, with the mutex and the condition variable for its work. The owner registers an exit handler
/// that calls `stop`, so that the thread stops before drivers shut down.
class BackgroundThread {
 public:
  std::mutex mutex;
  std::condition_variable changed;
  bool is_stopping = false;  ///< guarded by `mutex`; the thread must then return

  /// Starts the thread, which calls `run`. Returns false if it has already been started. The caller must hold `mutex`.
  /// Throws std::system_error.
  template <class F>
  bool start(F&& run) {
    if (process_ != 0) return false;
    const support::SignalsBlocked no_signals;
    thread_ = std::thread([this, run] {
      run();
      const std::lock_guard lock(mutex);
      has_ended_ = true;
      changed.notify_all();
    });
    process_ = ::getpid();
    return true;
  }

  /// Waits at most 2 s until the thread has returned: it may be in a call that never returns, or wait for something that
  /// happens only after this exit handler.
  void stop() noexcept {
    if (process_ != ::getpid()) return;  // not started, or this is a forked child, in which the thread does not exist
    std::unique_lock lock(mutex);
    if (std::exchange(is_stopping, true)) return;
    changed.notify_all();
    const bool is_own = std::this_thread::get_id() == thread_.get_id();  // a function on the thread has called `exit`
    if (is_own || !changed.wait_for(lock, std::chrono::seconds(2), [this] { return has_ended_; })) return thread_.detach();
    lock.unlock();
    thread_.join();
  }

 private:
  std::thread thread_;
  bool has_ended_ = false;
  int process_ = 0;
};

}  // namespace weir::detail
