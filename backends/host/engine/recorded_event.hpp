// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/host/engine/signal.hpp"
#include "core/base/spin_lock.hpp"
#include "weir/plugin/event.hpp"

/// The part of events that work uses.
namespace weir::host {

/// Where an event was recorded: a point of a queue, of a graph's launches, or of a capture.
struct RecordPoint {
  Ptr<Signal> signal;                ///< null: never recorded, so complete
  std::uint64_t number = 0;
  Ptr<RefCounted> capture;           ///< not null: recorded in a capture
  std::vector<std::uint32_t> nodes;  ///< the nodes of the capture that come before the event
};

/// An event: a number that a signal must reach.
class RecordedEvent : public EventImpl {
 public:
  /// Records the event at `number` of `signal`.
  void record_at(Signal& signal, std::uint64_t number) noexcept;
  void record_in(Ptr<RefCounted> capture, std::vector<std::uint32_t> nodes);
  RecordPoint point() const;
  /// Called when the work before the record is done.
  void stamp() noexcept;

 protected:
  using Clock = std::chrono::steady_clock;
  using EventImpl::EventImpl;
  /// When that was; 0 if it has not happened yet.
  Clock::rep time() const noexcept { return time_.load(std::memory_order_acquire); }
  /// Resets the event to never recorded.
  void forget() noexcept;

 private:
  mutable SpinLock lock_;
  RecordPoint point_;
  std::atomic<Clock::rep> time_{0};
};

}  // namespace weir::host
