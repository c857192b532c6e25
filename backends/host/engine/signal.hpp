// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "core/base/spin_lock.hpp"
#include "weir/ptr.hpp"
#include "weir/stream_attributes.hpp"

/// A signal: a counter that only grows, and its waiters. Every wait in this backend is a wait for a signal. A queue is a
/// signal that counts its finished operations, so a queue and a number name a point of a stream.
namespace weir::host {

/// Waits for a signal to reach a number; `reached` is called once. A waiter must not move until then.
class Waiter {
 public:
  /// Called on the thread that advanced the signal. It must be short and must not wait.
  virtual void reached() noexcept = 0;

 protected:
  virtual ~Waiter() = default;

 private:
  friend class Signal;
  bool is_before(const Waiter& other) const noexcept {
    return awaited_ != other.awaited_ ? awaited_ < other.awaited_ : arrival_ < other.arrival_;
  }
  Waiter* next_waiter_ = nullptr;  // sibling in the heap, or next in the list of waiters to call
  Waiter* child_ = nullptr;
  std::uint64_t awaited_ = 0, arrival_ = 0;
};

class Signal : public RefCounted {
 public:
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }
  bool has_reached(std::uint64_t number) const noexcept { return value() >= number; }

  /// The same as `has_reached`, for a query by the host, which a schedule must notice.
  bool is_done(std::uint64_t number) const noexcept;

  /// Raises the counter by one, and calls the waiters for the new number.
  void advance() noexcept {
    // Sequentially consistent with `wait`: either this thread sees the waiter, or the waiting thread sees the new value.
    const std::uint64_t now = value_.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (now >= awaited_first_.load(std::memory_order_seq_cst)) release_waiters(now);
  }
  /// Registers `waiter` and returns true. Returns false, and does not register it, if the number is already reached.
  bool wait(Waiter& waiter, std::uint64_t number) noexcept;

  /// Blocks the calling thread until the number is reached.
  void wait_on_host(std::uint64_t number, SynchronizationPolicy policy);
  /// Blocks the calling thread until the number is reached or `deadline` has passed. Returns whether the number is reached.
  bool wait_on_host_until(std::uint64_t number, std::chrono::steady_clock::time_point deadline);

 protected:
  Signal() = default;
  ~Signal() override = default;

 private:
  void release_waiters(std::uint64_t now) noexcept;
  static Waiter* merged(Waiter* a, Waiter* b) noexcept;
  Waiter* take_first_waiter() noexcept;

  std::atomic<std::uint64_t> value_{0};
  std::atomic<std::uint64_t> awaited_first_{std::numeric_limits<std::uint64_t>::max()};
  // A pairing heap, ordered by number and then by arrival. The cost of adding a waiter does not depend on how many there
  // are.
  Waiter* waiters_ = nullptr;
  std::uint64_t arrivals_ = 0;
  SpinLock waiters_lock_;
};

/// A signal that is not a queue. It counts the records of an event by launches of graphs.
class PlainSignal final : public Signal {
 public:
  PlainSignal() = default;
};

}  // namespace weir::host
