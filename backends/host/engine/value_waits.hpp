// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "backends/host/engine/scheduler.hpp"
#include "weir/stream_memory.hpp"

/// Streams that wait for a value in memory. Any store may satisfy such a wait, even one that Weir cannot observe, so a
/// thread polls the values while there are waits. A store by a stream releases the waits at once, without polling.
namespace weir::host {

/// The present value at the address of `wait`.
std::uint64_t value_at(const MemoryOperation& wait) noexcept;
/// Whether the present value satisfies the condition of `wait`.
bool is_met(const MemoryOperation& wait) noexcept;
/// Writes a value, and releases the waits that the new value satisfies.
void write_value(const MemoryOperation& write);

/// Waits for a value in memory. It must not move until `met` is called.
class ValueWaiter {
 public:
  virtual void met() noexcept = 0;

 protected:
  virtual ~ValueWaiter() = default;

 private:
  friend class ValueWaits;
  MemoryOperation operation_{};
  const MemoryOperation* given_ = nullptr;  // the operation that was passed to `add`; `operation_` is a copy of it
  ValueWaiter* next_ = nullptr;
};

class ValueWaits {
 public:
  static ValueWaits& instance() noexcept;

  /// Starts the polling thread. Call it before a wait is enqueued. Throws `out_of_memory` if the system cannot start a
  /// thread.
  void ensure_started() {
    thread_.ensure_started("that looks at values which streams wait for", [this] { poll(); });
  }
  /// Registers `waiter`. Once the condition of `wait` is satisfied, any thread calls `waiter.met()`, once.
  void add(ValueWaiter& waiter, const MemoryOperation& wait) noexcept;
  /// Whether a waiter is registered that was added with exactly this `wait` object.
  bool has(const MemoryOperation& wait) noexcept;
  /// Releases all waits whose condition is satisfied now.
  void look() noexcept;

 private:
  friend void write_value(const MemoryOperation& write);
  /// The waits for some of the addresses. A write checks only the bucket of its own address.
  struct Bucket {
    std::mutex mutex;
    ValueWaiter* waiting = nullptr;
    std::atomic<std::uint32_t> count{0};
  };
  static constexpr std::size_t bucket_count = 1024;

  Bucket& bucket_of(const void* address) noexcept;
  /// Releases the waits in one bucket whose condition is satisfied now.
  void look(Bucket& bucket) noexcept;
  void poll() noexcept;

  Bucket buckets_[bucket_count];
  OnDemandThread thread_;
  // The next members are for the polling thread.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<std::uint32_t> waiting_{0};
  std::uint64_t additions_ = 0;
};

}  // namespace weir::host
