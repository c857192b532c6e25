// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "core/base/spin_lock.hpp"
#include "weir/ptr.hpp"
#include "weir/stream_attributes.hpp"

/// A counter that only grows, with its waiters. All waits in this backend are waits for signals. A queue is a signal that
/// counts its finished operations, so a point of a stream is a queue and a number.
namespace weir::host {

/// Called once when a signal has reached a number. Must not move until then.
class Waiter {
 public:
  /// Called on the thread that advanced the signal. Must be short and must not wait.
  virtual void reached() noexcept = 0;

 protected:
  virtual ~Waiter() = default;

 private:
  friend class Signal;
  bool is_before(const Waiter& other) const noexcept {
    return awaited_ != other.awaited_ ? awaited_ < other.awaited_ : arrival_ < other.arrival_;
  }
  Waiter* next_waiter_ = nullptr;  // with the same parent, or in the list of waiters to call
  Waiter* child_ = nullptr;
  std::uint64_t awaited_ = 0, arrival_ = 0;
};

class Signal : public RefCounted {
 public:
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }
  bool has_reached(std::uint64_t number) const noexcept { return value() >= number; }

  /// The same, for a query by the host.
  bool is_done(std::uint64_t number) const noexcept;

  /// Raises the counter by one.
  void advance() noexcept {
    // Sequentially consistent with `wait`: either this thread sees the waiter, or the waiter sees this value.
    const std::uint64_t now = value_.fetch_add(1, std::memory_order_seq_cst) + 1;
    if (now >= awaited_first_.load(std::memory_order_seq_cst)) release_waiters(now);
  }
  /// Registers `waiter` and returns true. Returns false if the number is reached already.
  bool wait(Waiter& waiter, std::uint64_t number) noexcept;

  /// Blocks the calling thread until the number is reached.
  void wait_on_host(std::uint64_t number, SynchronizationPolicy policy);
  /// The same until `deadline`; returns false if the number is not reached by then.
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
  // A pairing heap, by number and arrival. Adding a waiter costs the same for any number of waiters.
  Waiter* waiters_ = nullptr;
  std::uint64_t arrivals_ = 0;
  SpinLock waiters_lock_;
};

/// A signal without a queue: for the records of an event by graphs.
class PlainSignal final : public Signal {
 public:
  PlainSignal() = default;
};

}  // namespace weir::host
