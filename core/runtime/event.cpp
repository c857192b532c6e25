// SPDX-License-Identifier: Apache-2.0
#include "weir/event.hpp"

#include <fmt/format.h>

#include "core/runtime/names.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

// The functions of `Event`.
namespace weir {

std::string Event::describe() const {
  return fmt::format("{} event{} {}", device_.describe(), detail::names::quoted(name()),
                     handle_.load(std::memory_order_acquire));
}

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void throw_captured_event(const Event& event, const char* operation) {
  Call(event, operation)
      .throw_error(Errc::captured_event,
                   "the event was last recorded in a capture, so it is a node of a graph and never completes by itself; use "
                   "Stream::record_external for an event that launches of the graph record");
}

}  // namespace

void Event::check_host_access(const char* operation) const {
  const Call call(*this, operation);
  if (impl(*this).is_captured()) [[unlikely]] throw_captured_event(*this, operation);
}

bool Event::is_complete() const {
  const Call call(*this, "Event::is_complete");
  if (impl(*this).is_captured()) [[unlikely]] throw_captured_event(*this, call.operation());
  call.check_unsafe();
  return perform(device_, OperationKind::query, call.operation(), [this](ToolNotice& notice) { notice->event = this; },
                 [this] { return impl(*this).do_is_complete(); });
}

void Event::synchronize() const {
  const Call call(*this, "Event::synchronize");
  if (impl(*this).is_captured()) [[unlikely]] throw_captured_event(*this, call.operation());
  call.check_unsafe();
  perform(device_, OperationKind::synchronize, call.operation(), [this](ToolNotice& notice) { notice->event = this; },
          [this] { impl(*this).do_synchronize(); });
}

std::chrono::duration<double, std::milli> Event::elapsed_since(EventRef begin) const {
  const Call call(*this, "Event::elapsed_since");
  const Event& start = call.not_null(begin, "the start event");
  if (&start.device_ != &device_) {
    call.throw_error(Errc::wrong_device,
                     "the start event is of " + start.device_.describe() + ", and different devices have different clocks");
  }
  const auto side = [&](bool mine) { return mine ? "the end event" : "the start event"; };
  if (!start.options_.timing || !options_.timing) {
    call.throw_error(Errc::timing_disabled, std::string(side(!options_.timing)) +
                                                " does not record the time; create it with EventOptions{.timing = true}");
  }
  if (!start.is_recorded() || !is_recorded()) {
    call.throw_error(Errc::not_recorded, std::string(side(!is_recorded())) + " was never recorded");
  }
  check_host_access(call.operation());
  start.check_host_access(call.operation());
  return std::chrono::duration<double, std::milli>(impl(*this).do_elapsed_ms_since(start));
}

InterprocessHandle Event::interprocess_handle() const {
  const Call call(*this, "Event::interprocess_handle");
  if (!options_.interprocess) {
    call.throw_error(Errc::invalid_argument,
                     "the event cannot be shared with other processes; create it with EventOptions{.interprocess = true}");
  }
  return impl(*this).do_interprocess_handle();
}

}  // namespace weir
