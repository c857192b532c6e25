// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "weir/ptr.hpp"

namespace weir {

/// Objects whose last owner went where they could not be ended: inside a host function, or while a capture was open. A
/// thread of its own, started when it is first needed, ends the former; the end of the last capture ends the latter. An
/// object may come back, where it still cannot be ended.
class DisposalQueue {
 public:
  static DisposalQueue& instance() noexcept;

  void after_host_function(RefCounted* object) noexcept;
  void after_captures(RefCounted* object) noexcept;
  void captures_ended() noexcept;

 private:
  DisposalQueue() = default;
  void run() noexcept;
  /// Ends a list of objects, newest first, in the order in which they were put off.
  static void dispose_all(RefCounted* newest) noexcept;
  static void dispose_of(RefCounted* object) noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  RefCounted* from_host_functions_ = nullptr;
  RefCounted* from_captures_ = nullptr;
  std::atomic<bool> any_from_captures_{false};
  bool running_ = false;
};

}  // namespace weir
