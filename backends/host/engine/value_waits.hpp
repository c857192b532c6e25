// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "backends/host/engine/scheduler.hpp"
#include "weir/stream_memory.hpp"

/// Streams that wait for a value in memory. Any store may end such a wait, even one that Weir cannot see, so a thread polls
/// the values while there are waits. Stores by streams are noticed at once.
namespace weir::host {

/// The present value at the operation's address.
std::uint64_t value_at(const MemoryOperation& wait) noexcept;
/// Whether that value satisfies the operation's condition.
bool is_met(const MemoryOperation& wait) noexcept;
/// Writes a value and releases the waits that it satisfies.
void write_value(const MemoryOperation& write);

/// A waiter for a value. Must not move until `met` is called.
class ValueWaiter {
 public:
  virtual void met() noexcept = 0;

 protected:
  virtual ~ValueWaiter() = default;

 private:
  friend class ValueWaits;
  MemoryOperation operation_{};
  const MemoryOperation* given_ = nullptr;  // `operation_` is a copy of this
  ValueWaiter* next_ = nullptr;
};

class ValueWaits {
 public:
  static ValueWaits& instance() noexcept;

  /// Call it before a wait is enqueued. Throws `out_of_memory` if the system cannot start a thread.
  void ensure_started() {
    thread_.ensure_started("that looks at values which streams wait for", [this] { poll(); });
  }
  /// Calls `waiter.met()` once, on any thread, when the condition is satisfied.
  void add(ValueWaiter& waiter, const MemoryOperation& wait) noexcept;
  /// Whether a waiter added with exactly that object is waiting.
  bool has(const MemoryOperation& wait) noexcept;
  /// Releases all waits whose condition is satisfied.
  void look() noexcept;

 private:
  friend void write_value(const MemoryOperation& write);
  /// The waits for some addresses. A write looks only at those for its own address.
  struct Bucket {
    std::mutex mutex;
    ValueWaiter* waiting = nullptr;
    std::atomic<std::uint32_t> count{0};
  };
  static constexpr std::size_t bucket_count = 1024;

  Bucket& bucket_of(const void* address) noexcept;
  /// Releases the satisfied waits of a bucket.
  void look(Bucket& bucket) noexcept;
  void poll() noexcept;

  Bucket buckets_[bucket_count];
  OnDemandThread thread_;
  // For the polling thread.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint32_t> waiting_{0};
  std::uint64_t additions_ = 0;
};

}  // namespace weir::host
