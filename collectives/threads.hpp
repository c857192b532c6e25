// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/no_destructor.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

/// The threads of collectives.
namespace weir::collectives {

/// Starts a thread that gets no signals, also no SIGPIPE of its own sockets. Throws `out_of_memory`, for the
/// function `operation`, if the system cannot.
template <class Run>
std::thread start_thread(const char* operation, const char* purpose, Run run) {
  try {
    const support::SignalsBlocked blocked;
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw Error(Errc::out_of_memory, operation, "",
                fmt::format("the thread {} could not be started: {}; raise the limit on threads (ulimit -u, pids.max)",
                            purpose, error.what()));
  }
}

/// A thread that calls `look` of objects a few times within their `timeout`. It runs until the process ends.
template <class T>
class Watch {
 public:
  static Watch& instance() {
    static detail::NoDestructor<Watch> watch;
    return *watch;
  }

  void add(T& object) {
    const std::lock_guard lock(mutex_);
    if (!is_started_) start_thread("Communicator::from_id", "for the timeouts of collectives", [this] { run(); }).detach();
    is_started_ = true;
    watched_.push_back(&object);
    wake_.notify_one();
  }
  void remove(T& object) noexcept {
    const std::lock_guard lock(mutex_);  // waits for a running `look`
    std::erase(watched_, &object);
  }

 private:
  void run() noexcept {
    using std::chrono::milliseconds;
    std::unique_lock lock(mutex_);
    for (;;) {
      milliseconds pause(500);
      for (const T* const object : watched_) pause = std::min(pause, object->timeout() / 8 + milliseconds(1));
      if (watched_.empty())
        wake_.wait(lock);
      else
        wake_.wait_for(lock, pause);
      for (T* const object : watched_) object->look();
    }
  }

  std::mutex mutex_;  // locked before a group's mutex
  std::condition_variable wake_;
  std::vector<T*> watched_;
  bool is_started_ = false;
};

}  // namespace weir::collectives
