// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
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
  /// For what must wait for a capture of foreign code's, of whose end nobody tells.
  void after_foreign_capture(RefCounted* object) noexcept;
  void captures_ended() noexcept;
  /// Tries what waits for foreign code's captures: each once, or up to the first that goes on waiting, which is then the last
  /// in turn. What another thread is trying at that moment is left to it.
  enum class Look : std::uint8_t { at_all, at_next };
  void look_again(Look look) noexcept;

 private:
  DisposalQueue() = default;
  void run() noexcept;
  /// Ends a list of objects, newest first, in the order in which they were put off.
  static void dispose_all(RefCounted* newest) noexcept;
  static void dispose_of(RefCounted* object) noexcept;
  RefCounted* take_waiting(std::uint64_t& arrivals) noexcept;
  bool have_come_since(std::uint64_t arrivals) noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  RefCounted* from_host_functions_ = nullptr;
  RefCounted* from_captures_ = nullptr;
  // Waiting for foreign code's captures, longest first. Written under the mutex; the count is looked at without it.
  RefCounted* waiting_ = nullptr;
  RefCounted** waiting_end_ = &waiting_;
  std::uint64_t arrivals_ = 0;  // how many have come, or come back, so far
  std::atomic<std::size_t> waiting_count_{0};
  std::atomic<bool> any_from_captures_{false};
  bool running_ = false;
};

}  // namespace weir
