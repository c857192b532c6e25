// SPDX-License-Identifier: Apache-2.0
#include "backends/host/runtime/event.hpp"

#include "backends/host/runtime/device.hpp"
#include "weir/error.hpp"

namespace weir::host {

HostEvent::HostEvent(HostDevice& device, const EventOptions& options) : RecordedEvent(device, options, this) {}
HostEvent::~HostEvent() = default;

bool HostEvent::do_is_complete() const {
  const RecordPoint at = point();
  return !at.signal || at.signal->is_done(at.number);
}

void HostEvent::do_synchronize() const {
  const RecordPoint at = point();
  if (!at.signal) return;
  at.signal->wait_on_host(at.number,
                          options().blocking_sync ? SynchronizationPolicy::block : SynchronizationPolicy::automatic);
}

bool HostEvent::do_synchronize_until(std::chrono::steady_clock::time_point deadline) const {
  const RecordPoint at = point();
  return !at.signal || at.signal->wait_on_host_until(at.number, deadline);
}

double HostEvent::do_elapsed_ms_since(const Event& start) const {
  if (!do_is_complete() || !static_cast<const HostEvent&>(start).do_is_complete()) {
    throw Error(Errc::not_ready, "Event::elapsed_since", describe(),
                "the work before one of the events is not done; synchronize with the later event first");
  }
  for (const HostEvent* event : {static_cast<const HostEvent*>(&start), this}) {
    if (event->time() == 0) {
      throw Error(Errc::not_recorded, "Event::elapsed_since", event->describe(),
                  "no launch of the graph has recorded the event yet");
    }
  }
  const auto ticks = time() - static_cast<const HostEvent&>(start).time();
  return std::chrono::duration<double, std::milli>(Clock::duration(ticks)).count();
}

void HostEvent::dispose() noexcept {
  forget();
  reset_state();
  static_cast<HostDevice&>(device()).events().give_back(*this);
}

EventPtr EventPool::take(HostDevice& device, const EventOptions& options) {
  HostEvent* const event = spent(options).take();
  return EventPtr(event != nullptr ? event : new HostEvent(device, options));
}

}  // namespace weir::host
