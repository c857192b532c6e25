// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "weir/stream_memory.hpp"

/// Streams that wait for a value in memory. Any store may end such a wait, also one that this library does not see, so a
/// thread looks at the values for as long as there are any to look at; stores that a stream makes are noticed at once.
namespace weir::host {

/// Whether the memory at the operation's address meets its condition.
bool is_met(const MemoryOperation& wait) noexcept;
/// Does a write, and releases the waits that it meets.
void write_value(const MemoryOperation& write);

/// Something that waits for a value. Lives where it is until `met` is called.
class ValueWaiter {
 public:
  virtual void met() noexcept = 0;

 protected:
  virtual ~ValueWaiter() = default;

 private:
  friend class ValueWaits;
  MemoryOperation operation_{};
  ValueWaiter* next_ = nullptr;
};

class ValueWaits {
 public:
  static ValueWaits& instance() noexcept;

  /// Calls `waiter.met()` once, on some thread, when the condition is met.
  void add(ValueWaiter& waiter, const MemoryOperation& wait);
  void look() noexcept;

 private:
  friend void write_value(const MemoryOperation& write);
  ValueWaits() = default;
  void poll() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  ValueWaiter* waiting_ = nullptr;
  std::atomic<std::uint32_t> count_{0};
  std::uint64_t additions_ = 0;
  bool started_ = false;
};

}  // namespace weir::host
