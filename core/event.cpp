// SPDX-License-Identifier: Apache-2.0
#include "weir/event.hpp"

#include "core/captures.hpp"
#include "core/thread_state.hpp"
#include "core/unsupported.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir {

std::string Event::describe() const { return device_.describe() + " event"; }

void Event::check_host_access(const char* operation) const {
  if (detail::barred()) [[unlikely]] detail::throw_barred(operation);
  if (record_state_.load(std::memory_order_acquire) >= captured_base) [[unlikely]] {
    throw Error(Errc::captured_event, operation, describe(),
                "the event was last recorded in a capture, so it stands for a node of a graph and never completes by itself; "
                "use Stream::record_external for an event that launches of the graph record");
  }
}

bool Event::is_complete() const {
  check_host_access("Event::is_complete");
  detail::check_unsafe_call("Event::is_complete", device_, *this);
  return do_is_complete();
}

void Event::synchronize() const {
  check_host_access("Event::synchronize");
  detail::check_unsafe_call("Event::synchronize", device_, *this);
  do_synchronize();
}

std::chrono::duration<double, std::milli> Event::elapsed_since(const Event& start) const {
  const char* const operation = "Event::elapsed_since";
  check_host_access(operation);
  start.check_host_access(operation);
  if (&start.device_ != &device_) {
    throw Error(Errc::wrong_device, operation, describe(),
                "the start event is of " + start.device_.describe() + ", and two devices share no clock");
  }
  const auto side = [&](bool mine) { return mine ? "the end event" : "the start event"; };
  if (!start.options_.timing || !options_.timing) {
    throw Error(Errc::timing_disabled, operation, describe(),
                std::string(side(!options_.timing)) + " keeps no time; make it with EventOptions{.timing = true}");
  }
  if (!start.is_recorded() || !is_recorded()) {
    throw Error(Errc::not_recorded, operation, describe(), std::string(side(!is_recorded())) + " was never recorded");
  }
  return std::chrono::duration<double, std::milli>(do_elapsed_ms_since(start));
}

InterprocessHandle Event::interprocess_handle() const {
  const char* const operation = "Event::interprocess_handle";
  if (detail::barred()) detail::throw_barred(operation);
  if (!options_.interprocess) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "the event was not made to be shared; make it with EventOptions{.interprocess = true}");
  }
  return do_interprocess_handle();
}

InterprocessHandle Event::do_interprocess_handle() const {
  detail::not_overridden("Event::interprocess_handle", describe(), Feature::interprocess_events);
}

}  // namespace weir
