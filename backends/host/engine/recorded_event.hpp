// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/host/engine/signal.hpp"
#include "core/base/spin_lock.hpp"
#include "weir/plugin/event.hpp"

/// The part of an event that the stream engine needs: where it was recorded.
namespace weir::host {

/// Where an event was recorded: at a point of a queue, of a graph's launches, or of a capture.
struct RecordPoint {
  Ptr<Signal> signal;                ///< null if the event was never recorded, so that it counts as complete
  std::uint64_t number = 0;
  Ptr<RefCounted> capture;           ///< the capture in which the event was recorded, or null
  std::vector<std::uint32_t> nodes;  ///< the nodes of the capture on which the record depends
};

/// An event. It is complete once a signal has reached a number.
class RecordedEvent : public EventImpl {
 public:
  /// Records the event at `number` of `signal`.
  void record_at(Signal& signal, std::uint64_t number) noexcept;
  void record_in(Ptr<RefCounted> capture, std::vector<std::uint32_t> nodes);
  RecordPoint point() const;
  /// Called when the work before the record is done: stores the time.
  void stamp() noexcept;

 protected:
  using Clock = std::chrono::steady_clock;
  using EventImpl::EventImpl;
  /// The time that `stamp` stored; 0 if it was not called yet.
  Clock::rep time() const noexcept { return time_.load(std::memory_order_acquire); }
  /// Resets the event to the state "never recorded".
  void forget() noexcept;

 private:
  mutable SpinLock lock_;
  RecordPoint point_;
  std::atomic<Clock::rep> time_{0};
};

}  // namespace weir::host
