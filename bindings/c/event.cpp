// SPDX-License-Identifier: Apache-2.0
#include "weir/event.hpp"

#include "bindings/c/convert.hpp"
#include "weir/device.hpp"
#include "weir/stream.hpp"

// The C interface: events (weir/c/event.h).
namespace weir::c {

EventOptions event_options(std::uint32_t flags) {
  check_flags(flags, WEIR_EVENT_TIMING | WEIR_EVENT_BLOCKING_SYNC | WEIR_EVENT_INTERPROCESS, "flags");
  return {.timing = (flags & WEIR_EVENT_TIMING) != 0,
          .blocking_sync = (flags & WEIR_EVENT_BLOCKING_SYNC) != 0,
          .interprocess = (flags & WEIR_EVENT_INTERPROCESS) != 0};
}

}  // namespace weir::c

using namespace weir::c;

weir_result weir_event_create(weir_device* device, uint32_t flags, weir_event** event) {
  return give(__func__, event, "event",
              [&] { return handle(required(device, "device").create_event(event_options(flags))); });
}

weir_event* weir_event_retain(weir_event* event) { return retain(event); }
void weir_event_release(weir_event* event) { release(event); }

weir_device* weir_event_device(const weir_event* event) { return device_of(event); }

uint32_t weir_event_get_flags(const weir_event* event) {
  if (event == nullptr) return 0;
  const weir::EventOptions& options = object(event)->options();
  return (options.timing ? WEIR_EVENT_TIMING : 0U) | (options.blocking_sync ? WEIR_EVENT_BLOCKING_SYNC : 0U) |
         (options.interprocess ? WEIR_EVENT_INTERPROCESS : 0U);
}

void* weir_event_native_handle(const weir_event* event) { return native_handle_of(event); }

void* weir_event_share_native_handle(weir_event* event) {
  return event != nullptr ? object(event)->share_native_handle() : nullptr;
}

bool weir_event_is_recorded(const weir_event* event) { return event != nullptr && object(event)->is_recorded(); }

weir_result weir_event_describe(const weir_event* event, char** text) {
  return give(__func__, text, "text", [&] { return new_text(required(event, "event").describe()); });
}

weir_result weir_event_set_name(weir_event* event, const char* name) {
  return call(__func__, [&] { required(event, "event").set_name(name_or_none(name)); });
}

weir_result weir_event_record(weir_event* event, weir_stream* stream) {
  return call(__func__, [&] { required(stream, "stream").record(required(event, "event")); });
}

weir_result weir_event_record_external(weir_event* event, weir_stream* stream) {
  return call(__func__, [&] { required(stream, "stream").record_external(required(event, "event")); });
}

weir_result weir_event_query(const weir_event* event, bool* complete) {
  return give(__func__, complete, "complete", [&] { return required(event, "event").is_complete(); });
}

weir_result weir_event_synchronize(const weir_event* event) {
  return call(__func__, [&] { required(event, "event").synchronize(); });
}

weir_result weir_event_synchronize_for(const weir_event* event, int64_t timeout_ns, bool* complete) {
  return give(__func__, complete, "complete",
              [&] { return required(event, "event").synchronize_for(std::chrono::nanoseconds(timeout_ns)); });
}

weir_result weir_event_elapsed_time(const weir_event* start, const weir_event* end, double* milliseconds) {
  return give(__func__, milliseconds, "milliseconds", [&] {
    const weir::Event& first = required(start, "start");
    return required(end, "end").elapsed_since(first).count();
  });
}

weir_result weir_event_get_interprocess_handle(const weir_event* event, weir_interprocess_handle* handle) {
  return give(__func__, handle, "handle", [&] { return bytes_of(required(event, "event").interprocess_handle()); });
}

weir_result weir_event_open(weir_device* device, const weir_interprocess_handle* handle, weir_event** event) {
  return give(__func__, event, "event",
              [&] { return weir::c::handle(required(device, "device").open_event(handle_of(output(handle, "handle")))); });
}
