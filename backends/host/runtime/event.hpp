// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "backends/host/engine/recorded_event.hpp"
#include "core/base/free_list.hpp"

/// The host backend's events, and a pool of unused ones.
namespace weir::host {

class HostDevice;

class HostEvent final : public RecordedEvent {
 public:
  HostEvent(HostDevice& device, const EventOptions& options);
  ~HostEvent() override;

 protected:
  bool do_is_complete() const override;
  void do_synchronize() const override;
  bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) const override;
  double do_elapsed_ms_since(const Event& start) const override;
  void dispose() noexcept override;
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

 private:
  friend class FreeList<HostEvent>;
  HostEvent* next_spent = nullptr;
};

/// The unused events of a device, by their options.
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
