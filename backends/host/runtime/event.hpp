// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "backends/host/engine/signal.hpp"
#include "core/base/free_list.hpp"
#include "core/base/spin_lock.hpp"
#include "weir/plugin/event.hpp"

/// Events: a number that a signal must reach.
namespace weir::host {

class Capture;
class HostDevice;

/// Where an event was recorded: at a point of a queue, of a graph's launches, or of a capture.
struct RecordPoint {
  Ptr<Signal> signal;                 ///< null: never recorded, so complete
  std::uint64_t number = 0;
  Ptr<Capture> capture;               ///< not null: recorded in a capture
  std::vector<std::uint32_t> nodes;   ///< the nodes of the capture that come before the event
};

class HostEvent final : public EventImpl {
 public:
  HostEvent(HostDevice& device, const EventOptions& options);
  ~HostEvent() override;

  /// Sets the event to `number` of `signal`.
  void record_at(Signal& signal, std::uint64_t number) noexcept;
  void record_in(Ptr<Capture> capture, std::vector<std::uint32_t> nodes);
  RecordPoint point() const;

  void stamp() noexcept;

 protected:
  bool do_is_complete() const override;
  void do_synchronize() const override;
  bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) const override;
  double do_elapsed_ms_since(const Event& start) const override;
  void dispose() noexcept override;
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

 private:
  friend class FreeList<HostEvent>;
  using Clock = std::chrono::steady_clock;

  mutable SpinLock lock_;
  RecordPoint point_;
  std::atomic<Clock::rep> time_{0};
  HostEvent* next_spent = nullptr;
};

/// A device's unused events, by their options.
class EventPool {
 public:
  EventPtr take(HostDevice& device, const EventOptions& options);
  void give_back(HostEvent& event) noexcept { spent(event.options()).give_back(&event); }

 private:
  FreeList<HostEvent>& spent(const EventOptions& options) noexcept {
    return spent_[options.timing ? 1 : 0][options.blocking_sync ? 1 : 0];
  }
  FreeList<HostEvent> spent_[2][2];
};

}  // namespace weir::host
