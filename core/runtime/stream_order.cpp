// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/runtime/names.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/event.hpp"
#include "weir/stream.hpp"

// The functions of `Stream` for events, waits, host functions and synchronization.
namespace weir {

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void throw_wrong_device(StreamCall call, const Event& event) {
  call.throw_error(Errc::wrong_device, "the event is of " + event.device().describe() +
                                           "; an event can be recorded only on streams of its own device");
}

void check_recordable(StreamCall call, const Event& event) {
  if (&event.device() != &call.device()) [[unlikely]]
    throw_wrong_device(call, event);
}

/// Throws if a wait would invalidate a capture. `mine`: the capture of the stream that waits. `theirs`: the id of the
/// capture that contains the work to wait for, or 0.
void check_join(StreamCall call, StreamKind kind, const CaptureState& mine, std::uint64_t theirs, bool theirs_open) {
  if (mine.status == CaptureStatus::active) {
    if (theirs == 0) call.throw_capture_error(Errc::capture_isolation);
    if (theirs != mine.id && theirs_open) call.throw_capture_error(Errc::capture_merge);
  }
  if (theirs != 0 && !theirs_open) call.throw_capture_error(Errc::captured_event);
  if (theirs != 0 && mine.status == CaptureStatus::none && kind == StreamKind::legacy_default) {
    call.throw_error(Errc::capture_unsupported,
                     "the legacy default stream cannot join a capture; use a stream of create_stream");
  }
}

struct Query {
  static constexpr OperationKind kind = OperationKind::query;
  static constexpr Capturing capturing = Capturing::by_driver;
  void describe(ToolNotice&) const {}
  bool enqueue(StreamImpl& stream, const CaptureState&) const { return stream.do_is_complete(); }
};

struct Record {
  static constexpr OperationKind kind = OperationKind::record;
  static constexpr Capturing capturing = Capturing::node;
  Event& event;
  void describe(ToolNotice& notice) const { notice->event = &event; }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_record(event, capture); }
};

struct RecordExternal {
  static constexpr OperationKind kind = OperationKind::record;
  static constexpr Capturing capturing = Capturing::only;
  Event& event;
  bool validate(const StreamCall& call) const {
    call.require(Feature::external_events);
    check_recordable(call, event);
    return true;
  }
  void describe(ToolNotice& notice) const {
    notice->event = &event;
    notice->in_graph = true;
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_record_external(event, capture); }
};

struct WaitEvent {
  static constexpr OperationKind kind = OperationKind::wait_event;
  static constexpr Capturing capturing = Capturing::node;
  const Event& event;
  void describe(ToolNotice& notice) const { notice->event = &event; }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_wait(event, capture); }
};

struct WaitExternal {
  static constexpr OperationKind kind = OperationKind::wait_event;
  static constexpr Capturing capturing = Capturing::only;
  const Event& event;
  bool validate(const StreamCall& call) const {
    call.require(Feature::external_events);
    call.check_same_backend(event.device());
    return true;
  }
  void describe(ToolNotice& notice) const {
    notice->event = &event;
    notice->in_graph = true;
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_wait_external(event, capture); }
};

struct WaitStream {
  static constexpr OperationKind kind = OperationKind::wait_stream;
  static constexpr Capturing capturing = Capturing::node;
  Stream& other;
  const CaptureState& of_other;
  void describe(ToolNotice& notice) const { notice.awaits(other); }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_wait_stream(other, capture, of_other); }
};

struct HostCall {
  static constexpr OperationKind kind = OperationKind::host_function;
  static constexpr Capturing capturing = Capturing::node;
  HostFunction& function;
  bool validate(const StreamCall& call) const {
    call.require(Feature::host_functions);
    if (!function) call.throw_error(Errc::invalid_argument, "the function is empty");
    return true;
  }
  void check_capture(const StreamCall& call) const { call.require(Feature::host_functions_in_capture); }
  void describe(ToolNotice& notice) const { function = detail::watched_function(notice->id, std::move(function)); }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    stream.do_launch_host_function(std::move(function), capture);
  }
};

struct NamedHostCall : HostCall {
  std::string_view name;
  void describe(ToolNotice& notice) const {
    notice->label = name;
    HostCall::describe(notice);
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    // Only for functions that are not captured: a captured one runs on other streams, on which the graph is launched.
    if (!capture) function = detail::names::named_function(detail::key_of(stream), name, std::move(function));
    HostCall::enqueue(stream, capture);
  }
};

struct Callback {
  static constexpr OperationKind kind = OperationKind::callback;
  static constexpr Capturing capturing = Capturing::refused;
  StreamCallback& callback;
  bool validate(const StreamCall& call) const {
    call.require(Feature::stream_callbacks);
    if (!callback) call.throw_error(Errc::invalid_argument, "the callback is empty");
    return true;
  }
  void describe(ToolNotice& notice) const { callback = detail::watched_callback(notice->id, std::move(callback)); }
  void enqueue(StreamImpl& stream, const CaptureState&) const { stream.do_add_callback(std::move(callback)); }
};

}  // namespace

// --- The host waits ---------------------------------------------------------------------------------------------------

void Stream::synchronize() {
  const StreamCall call(*this, "Stream::synchronize");
  call.check_host_wait();
  detail::wait_on_host(*this);
}

bool Stream::is_complete() const {
  const StreamCall call(*this, "Stream::is_complete");
  call.check_host_wait();
  return perform(const_cast<Stream&>(*this), call.operation(), {}, Query());
}

// --- Events -----------------------------------------------------------------------------------------------------------

EventPtr Stream::record(const EventOptions& options) {
  const StreamCall call(*this, "Stream::record");
  EventPtr event = device_->create_event(options);
  record(*event);
  return event;
}

void Stream::record(Ref<Event> recorded) {
  const StreamCall call(*this, "Stream::record");
  Event& event = call.not_null(recorded, "the event");
  check_recordable(call, event);
  const CaptureState capture = call.usable_capture();
  perform(*this, "Stream::record", capture, Record{event});
  std::uint64_t state = Event::recorded;
  if (capture) [[unlikely]] {
    const bool external = !Captures::instance().is_open(device_->backend(), capture.id);
    state = Event::captured_base + capture.id * 2 + (external ? 1 : 0);
  }
  event.record_state_.store(state, std::memory_order_release);
}

void Stream::record_external(Ref<Event> recorded) {
  Event& event = StreamCall(*this, "Stream::record_external").not_null(recorded, "the event");
  submit(*this, "Stream::record_external", RecordExternal{event});
  // Not marked as captured: launches of the graph record this event, so the host may query it and wait for it.
  event.record_state_.store(Event::recorded, std::memory_order_release);
}

void Stream::wait(EventRef awaited) {
  const StreamCall call(*this, "Stream::wait");
  const Event& event = call.not_null(awaited, "the event");
  call.check_same_backend(event.device());
  const CaptureState mine = call.usable_capture();
  const WaitEvent operation{event};
  const std::uint64_t state = event.record_state_.load(std::memory_order_acquire);
  if (state < Event::captured_base) [[likely]] {
    if (mine && state == Event::recorded) [[unlikely]] check_join(call, kind_, mine, 0, false);
    perform(*this, "Stream::wait", mine, operation);
    // If other code has the event's handle, it may have recorded the event in a capture. Then this stream has now joined
    // that capture, so query the driver from now on.
    if ((event.flags_.load(std::memory_order_relaxed) & Event::shared) != 0 && !mine &&
        impl(*this).do_capture_state().status != CaptureStatus::none) [[unlikely]]
      StreamCore::set_shared(*this);
    return;
  }
  const std::uint64_t capture = (state - Event::captured_base) / 2;
  const bool external = (state - Event::captured_base) % 2 != 0;
  check_join(call, kind_, mine, capture, external || Captures::instance().is_open(device_->backend(), capture));
  if (&event.device() != device_) call.require(Feature::cross_device_capture);
  if (mine) return perform(*this, "Stream::wait", mine, operation);
  detail::JoinCapture joining(*this, capture, !impl(*this).do_is_non_blocking());
  perform(*this, "Stream::wait", mine, operation);
  joining.done();
  if (external) StreamCore::set_shared(*this);
}

void Stream::wait_external(EventRef awaited) {
  const Event& event = StreamCall(*this, "Stream::wait_external").not_null(awaited, "the event");
  submit(*this, "Stream::wait_external", WaitExternal{event});
}

// --- Other streams ----------------------------------------------------------------------------------------------------

void Stream::wait(StreamRef awaited) {
  const StreamCall call(*this, "Stream::wait");
  Stream& other = call.not_null(awaited, "the stream to wait for");
  const StreamCall other_call(other, call.operation());
  call.check_same_backend(*other.device_);
  if (handle_ == other.handle_ && *this == other) return;
  const CaptureState mine = call.usable_capture();
  const CaptureState theirs = other_call.usable_capture();
  const WaitStream operation{other, theirs};
  if (!mine && !theirs) [[likely]]
    return perform(*this, "Stream::wait", mine, operation);
  check_join(call, kind_, mine, theirs.id, true);
  if (theirs && other.device_ != device_) call.require(Feature::cross_device_capture);
  if (mine) return perform(*this, "Stream::wait", mine, operation);
  detail::JoinCapture joining(*this, theirs.id, !impl(*this).do_is_non_blocking());
  perform(*this, "Stream::wait", mine, operation);
  joining.done();
  if (!Captures::instance().is_open(device_->backend(), theirs.id)) StreamCore::set_shared(*this);
}

// --- Host functions ---------------------------------------------------------------------------------------------------

void Stream::launch_host_function(HostFunction function) {
  submit(*this, "Stream::launch_host_function", HostCall{function});
}

void Stream::launch_host_function(HostFunction function, const HostFunctionOptions& options) {
  if (options.name.empty()) return launch_host_function(std::move(function));
  submit(*this, "Stream::launch_host_function", NamedHostCall{{function}, options.name});
}

void Stream::add_callback(StreamCallback callback) { submit(*this, "Stream::add_callback", Callback{callback}); }

}  // namespace weir
