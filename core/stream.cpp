// SPDX-License-Identifier: Apache-2.0
#include "weir/stream.hpp"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "core/stream_call.hpp"
#include "core/tools.hpp"
#include "weir/backend.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir {

using detail::Captures;
using detail::StreamCall;
using detail::StreamCore;
using detail::Watched;

namespace {

std::uintptr_t address(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

Stream::Stream(Device& device, void* handle, StreamKind kind, std::shared_ptr<const void> keep_alive)
    : device_(&device), handle_(handle), keep_alive_(std::move(keep_alive)), kind_(kind) {
  std::uint32_t flags = 0;
  if (kind == StreamKind::per_thread_default) {
    thread_ = detail::this_thread();
    flags |=
        StreamCore::flag_per_thread | StreamCore::flag_external;  // external code can name it without a handle of Weir's
  }
  if (kind == StreamKind::legacy_default) flags |= StreamCore::flag_legacy;
  if (kind == StreamKind::borrowed || kind == StreamKind::adopted) flags |= StreamCore::flag_external;
  if (detail::is_watched()) flags |= StreamCore::flag_watched;
  flags_.store(flags, std::memory_order_relaxed);
}

void Stream::renew(std::shared_ptr<const void> keep_alive) noexcept {
  keep_alive_ = std::move(keep_alive);
  closing_postponed_ = false;
  capture_.store(0, std::memory_order_relaxed);
  began_.store(0, std::memory_order_relaxed);
  joined_depth_.store(0, std::memory_order_relaxed);
  flags_.store(StreamCore::flag_external | (detail::is_watched() ? StreamCore::flag_watched : 0), std::memory_order_release);
}

Stream::~Stream() = default;

bool Stream::is_closed() const noexcept { return (StreamCore::flags(*this) & StreamCore::flag_closed) != 0; }

void Stream::set_unshared() noexcept { flags_.fetch_and(~StreamCore::flag_external, std::memory_order_relaxed); }

void Stream::dispose() noexcept {
  try {
    const bool was_closed = is_closed();
    if (!was_closed) StreamCore::begin_closing(*this);
    if (!was_closed || closing_postponed_) StreamCore::finish_closing(*this, StreamCore::destroys_handle(*this));
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "while a stream was destroyed: ", e.what());
  }
  if (capture_.load(std::memory_order_acquire) != 0) Captures::instance().leave(*this);
  do_dispose();
}

void Stream::do_dispose() noexcept { delete this; }

bool Stream::is_of_another_thread() const noexcept { return thread_ != 0 && thread_ != detail::this_thread(); }

// --- Checks -----------------------------------------------------------------------------------------------------------

void StreamCall::enter_slowly(StreamCall call) {
  call.check_usable();
  const std::uint32_t flags = StreamCore::flags(call.object_);
  if ((flags & StreamCore::flag_deferred) != 0) StreamCore::free_deferred(const_cast<Stream&>(call.object_), false);
  if ((flags & StreamCore::flag_legacy) != 0 && detail::open_captures.load(std::memory_order_acquire) != 0 &&
      Captures::instance().any_on(call.device(), true)) {
    call.refuse(
        Errc::capture_implicit,
        "a blocking stream of this device is capturing, and the legacy default stream would have to be ordered against it; "
        "use a stream made by create_stream");
  }
}

void StreamCall::check_usable() const {
  if (detail::is_refused(device())) detail::throw_refused(device(), object_, operation_);
  const std::uint32_t flags = StreamCore::flags(object_);
  if ((flags & StreamCore::flag_closed) != 0) refuse(Errc::stream_closed, "the stream was closed; create or wrap another");
  if ((flags & StreamCore::flag_per_thread) != 0 && StreamCore::origin(object_).thread_stream != detail::this_thread()) {
    refuse(Errc::wrong_thread,
           "this is another thread's per-thread default stream, which only that thread can name to the driver; call "
           "Device::per_thread_stream on this thread, or share a stream made by create_stream");
  }
}

void StreamCall::refuse_invalidated(StreamCall call) {
  call.refuse(Errc::capture_invalidated,
              "an earlier error invalidated the capture; end it, which throws, and the stream is usable again");
}

CaptureState StreamCall::active_capture() const {
  const CaptureState capture = usable_capture();
  if (!capture) refuse(Errc::not_capturing, "this adds a node to a capture, and the stream is not capturing");
  return capture;
}

void StreamCall::check_host_wait() const {
  if (usable_capture()) {
    refuse(Errc::capture_unsupported,
           "the stream is capturing, so there is nothing to wait for until the graph is launched; the capture goes on");
  }
  check_unsafe();
}

void StreamCall::refuse_in_capture() const {
  if (usable_capture()) refuse(Errc::capture_unsupported, "this cannot be captured; the capture goes on");
}

void StreamCall::check_same_backend(const Device& other) const {
  if (&other.backend() != &device().backend()) [[unlikely]] {
    refuse(Errc::unsupported,
           "it would wait for work on " + other.describe() +
               ", and no driver can wait for another vendor's device; synchronize on the host in between");
  }
}

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_record(StreamCall call, const Event& event) {
  call.refuse(Errc::wrong_device,
              "the event is of " + event.device().describe() + "; an event is recorded on streams of its own device only");
}

void check_recordable(StreamCall call, const Event& event) {
  if (&event.device() != &call.device()) [[unlikely]]
    refuse_record(call, event);
}

/// Throws if a wait would break a capture. `theirs`: the id of the capture that the awaited work is in, or 0.
void check_join(StreamCall call, StreamKind kind, const CaptureState& mine, std::uint64_t theirs, bool theirs_open) {
  if (mine.status == CaptureStatus::active) {
    if (theirs == 0) {
      call.refuse(
          Errc::capture_isolation,
          "the stream is capturing and would wait for work outside the capture, which is done only once; wait before "
          "the capture begins, or use wait_external; the capture goes on");
    }
    if (theirs != mine.id && theirs_open) {
      call.refuse(Errc::capture_merge,
                  "both sides are capturing, and not into the same graph; end one capture first; both captures go on");
    }
  }
  if (theirs != 0 && !theirs_open) {
    call.refuse(
        Errc::captured_event,
        "the event was recorded in a capture that has ended, so it stands for no point of any stream; record it again");
  }
  if (theirs != 0 && mine.status == CaptureStatus::none && kind == StreamKind::legacy_default) {
    call.refuse(Errc::capture_unsupported,
                "the legacy default stream cannot join a capture; use a stream made by create_stream");
  }
}

void check_closable(const Stream& stream, const char* operation) {
  detail::enter(operation);
  if (stream.kind() == StreamKind::legacy_default || stream.kind() == StreamKind::per_thread_default) {
    throw Error(Errc::invalid_argument, operation, stream.describe(),
                "a default stream cannot be closed; let go of it instead");
  }
}

}  // namespace

// --- Identity ---------------------------------------------------------------------------------------------------------

void* Stream::native_handle() {
  const StreamCall call(*this, "Stream::native_handle");
  StreamCore::set_shared(*this);
  return handle_;
}

void* Stream::native_context() const {
  const StreamCall call(*this, "Stream::native_context");
  call.require(Feature::native_context);
  return do_native_context();
}

std::uint64_t Stream::id() const {
  const StreamCall call(*this, "Stream::id", StreamCall::Looking());
  return do_id();
}

bool Stream::is_non_blocking() const {
  const StreamCall call(*this, "Stream::is_non_blocking", StreamCall::Looking());
  return do_is_non_blocking();
}

int Stream::priority() const {
  const StreamCall call(*this, "Stream::priority", StreamCall::Looking());
  return do_priority();
}

std::string Stream::describe_handle() const {
  std::string text = device_->describe();
  switch (kind_) {
    case StreamKind::legacy_default: text += " default stream"; break;
    case StreamKind::per_thread_default: text += " per-thread default stream"; break;
    case StreamKind::borrowed: text += " borrowed stream " + fmt::format("{}", handle_); break;
    case StreamKind::adopted:
    case StreamKind::owned: text += " stream " + fmt::format("{}", handle_); break;
  }
  return text;
}

std::string Stream::describe() const {
  std::string text = describe_handle();
  if (is_closed()) return text + " (closed)";
  if (detail::is_refused(*device_)) return text;
  try {
    const CaptureStatus status = StreamCore::known_capture(*this).status;
    if (status == CaptureStatus::active) text += " (capturing)";
    if (status == CaptureStatus::invalidated) text += " (capture invalidated)";
  } catch (const std::exception&) {
    // Descriptions are part of error messages. Their own failure must not replace the error.
  }
  return text;
}

std::strong_ordering StreamCore::compare(const Stream& a, const Stream& b) noexcept {
  if (&a == &b) return std::strong_ordering::equal;
  const auto key = [](const Stream& s) {
    return std::tuple(address(s.device_), address(s.handle_), s.thread_, s.is_closed() ? address(&s) : 0);
  };
  return key(a) <=> key(b);
}

bool operator==(const Stream& a, const Stream& b) noexcept { return StreamCore::compare(a, b) == 0; }
std::strong_ordering operator<=>(const Stream& a, const Stream& b) noexcept { return StreamCore::compare(a, b); }

std::size_t Stream::hash() const noexcept {
  const std::uint64_t mixed = address(device_) * 0x9E3779B97F4A7C15U ^ address(handle_) ^ (thread_ << 32U);
  return static_cast<std::size_t>(mixed * 0xC2B2AE3D27D4EB4FU ^ (mixed >> 29U));
}

bool operator==(const StreamPtr& a, const StreamPtr& b) noexcept {
  return a.get() == b.get() || (a != nullptr && b != nullptr && *a == *b);
}

std::strong_ordering operator<=>(const StreamPtr& a, const StreamPtr& b) noexcept {
  if (a == nullptr || b == nullptr) return (a != nullptr) <=> (b != nullptr);
  return *a <=> *b;
}

std::ostream& operator<<(std::ostream& out, const Stream& stream) { return out << stream.describe(); }

// --- Ending -----------------------------------------------------------------------------------------------------------

void StreamCore::begin_closing(Stream& stream) noexcept {
  stream.flags_.fetch_or(flag_closed, std::memory_order_release);
  if (open_captures.load(std::memory_order_acquire) != 0) {
    // The owner of a handle ends any capture on it; a borrower only one that it began itself. That of a conditional node's
    // body ends where the body's function returns.
    const auto capture = Captures::instance().find(origin(stream));
    if (capture && capture->outer == 0 &&
        (destroys_handle(stream) || capture->id == stream.began_.load(std::memory_order_relaxed))) {
      drop_capture(stream, capture->id);
    }
  }
  free_deferred(stream, true);
}

void StreamCore::finish_closing(Stream& stream, bool destroy) {
  stream.closing_postponed_ = false;
  // `keep_alive` is released after the driver has released the stream, even if that failed.
  const std::shared_ptr<const void> keep_alive = std::move(stream.keep_alive_);
  stream.do_close(destroy);
}

void Stream::close() {
  if (is_closed()) return;
  check_closable(*this, "Stream::close");
  StreamCore::begin_closing(*this);
  // Memory that is still to be freed on this stream needs the handle: its release closes the stream then.
  if (dependents() != 0) {
    closing_postponed_ = true;
    return;
  }
  StreamCore::finish_closing(*this, StreamCore::destroys_handle(*this));
}

void* Stream::release_handle() {
  const StreamCall call(*this, "Stream::release_handle");
  check_closable(*this, call.operation());
  if (!StreamCore::destroys_handle(*this)) call.refuse(Errc::invalid_argument, "the stream does not own its handle");
  if (dependents() != 0) {
    call.refuse(Errc::invalid_argument, "memory allocated on the stream is to be freed on it; drop the memory first");
  }
  if ((StreamCore::flags(*this) & StreamCore::flag_deferred) != 0) {
    call.refuse(
        Errc::invalid_argument,
        "memory allocated on the stream is yet to be freed on it, which a capture forbids; end that capture, and try "
        "again");
  }
  void* const handle = handle_;
  StreamCore::begin_closing(*this);
  StreamCore::finish_closing(*this, false);
  return handle;
}

// --- Ordering ---------------------------------------------------------------------------------------------------------

/// What an ordinary wait takes stays in `Stream::wait`.
inline void StreamCore::wait_for(Stream& stream, const Event& event, const CaptureState& capture) {
  if (is_watched(stream)) [[unlikely]]
    wait_watched(stream, event, capture);
  else
    stream.do_wait(event, capture);
}

inline void StreamCore::wait_for(Stream& stream, Stream& other, const CaptureState& capture,
                                 const CaptureState& of_other) {
  if (is_watched(stream)) [[unlikely]]
    wait_watched(stream, other, capture, of_other);
  else
    stream.do_wait_stream(other, capture, of_other);
}

void StreamCore::record_watched(Stream& stream, Event& event, const CaptureState& capture) {
  Watched watched(stream, OperationKind::record, "Stream::record", capture);
  watched->event = &event;
  watched.run([&] { stream.do_record(event, capture); });
}

void StreamCore::wait_watched(Stream& stream, const Event& event, const CaptureState& capture) {
  Watched watched(stream, OperationKind::wait_event, "Stream::wait", capture);
  watched->event = &event;
  watched.run([&] { stream.do_wait(event, capture); });
}

void StreamCore::wait_watched(Stream& stream, Stream& other, const CaptureState& capture, const CaptureState& of_other) {
  Watched(stream, OperationKind::wait_stream, "Stream::wait", capture).awaits(other).run([&] {
    stream.do_wait_stream(other, capture, of_other);
  });
}

void Stream::synchronize() {
  const StreamCall call(*this, "Stream::synchronize");
  call.check_host_wait();
  StreamCore::wait_on_host(*this);
}

bool Stream::is_complete() const {
  const StreamCall call(*this, "Stream::is_complete");
  call.check_host_wait();
  if (is_watched()) [[unlikely]]
    return detail::out_of_line([this] {
      return Watched(*this, OperationKind::query, "Stream::is_complete").run([this] { return do_is_complete(); });
    });
  return do_is_complete();
}

EventPtr Stream::record(const EventOptions& options) {
  const StreamCall call(*this, "Stream::record");
  EventPtr event = device_->create_event(options);
  record(*event);
  return event;
}

void Stream::record(Event& event) {
  const StreamCall call(*this, "Stream::record");
  check_recordable(call, event);
  const CaptureState capture = call.usable_capture();
  if (is_watched()) [[unlikely]]
    StreamCore::record_watched(*this, event, capture);
  else
    do_record(event, capture);
  std::uint64_t state = Event::recorded;
  if (capture) [[unlikely]] {
    const bool external = !Captures::instance().is_open(device_->backend(), capture.id);
    state = Event::captured_base + capture.id * 2 + (external ? 1 : 0);
  }
  event.record_state_.store(state, std::memory_order_release);
}

void Stream::record_external(Event& event) {
  const StreamCall call(*this, "Stream::record_external");
  call.require(Feature::external_events);
  check_recordable(call, event);
  const CaptureState capture = call.active_capture();
  if (is_watched()) [[unlikely]] {
    Watched watched(*this, OperationKind::record, call.operation(), capture);
    watched->event = &event;
    watched->in_graph = true;
    watched.run([&] { do_record_external(event, capture); });
  } else {
    do_record_external(event, capture);
  }
  // Launches of the graph record it, so the host may use it like any other event.
  event.record_state_.store(Event::recorded, std::memory_order_release);
}

void Stream::wait(const Event& event) {
  const StreamCall call(*this, "Stream::wait");
  call.check_same_backend(event.device());
  const CaptureState mine = call.usable_capture();
  const std::uint64_t state = event.record_state_.load(std::memory_order_acquire);
  if (state < Event::captured_base) [[likely]] {
    if (mine && state == Event::recorded) [[unlikely]] check_join(call, kind_, mine, 0, false);
    StreamCore::wait_for(*this, event, mine);
    // External code that knows the event may have recorded it in a capture, which this stream has joined then.
    if (event.is_shared() && !mine && do_capture_state().status != CaptureStatus::none) [[unlikely]]
      StreamCore::set_shared(*this);
    return;
  }
  const std::uint64_t capture = (state - Event::captured_base) / 2;
  const bool external = (state - Event::captured_base) % 2 != 0;
  check_join(call, kind_, mine, capture, external || Captures::instance().is_open(device_->backend(), capture));
  if (&event.device() != device_) call.require(Feature::cross_device_capture);
  if (mine) {
    StreamCore::wait_for(*this, event, mine);
    return;
  }
  detail::Joining joining(*this, capture, !do_is_non_blocking());
  StreamCore::wait_for(*this, event, mine);
  joining.done();
  if (external) StreamCore::set_shared(*this);
}

void Stream::wait(const EventPtr& event) {
  if (!event) throw Error(Errc::invalid_argument, "Stream::wait", describe(), "the event is null");
  wait(*event);
}

void Stream::wait_external(const Event& event) {
  const StreamCall call(*this, "Stream::wait_external");
  call.require(Feature::external_events);
  call.check_same_backend(event.device());
  const CaptureState capture = call.active_capture();
  if (is_watched()) [[unlikely]] {
    Watched watched(*this, OperationKind::wait_event, call.operation(), capture);
    watched->event = &event;
    watched->in_graph = true;
    watched.run([&] { do_wait_external(event, capture); });
  } else {
    do_wait_external(event, capture);
  }
}

void Stream::wait(Stream& other) {
  const StreamCall call(*this, "Stream::wait");
  const StreamCall other_call(other, call.operation());
  call.check_same_backend(*other.device_);
  if (handle_ == other.handle_ && *this == other) return;
  const CaptureState mine = call.usable_capture();
  const CaptureState theirs = other_call.usable_capture();
  if (!mine && !theirs) [[likely]] {
    StreamCore::wait_for(*this, other, mine, theirs);
    return;
  }
  check_join(call, kind_, mine, theirs.id, true);
  if (theirs && other.device_ != device_) call.require(Feature::cross_device_capture);
  if (mine) {
    StreamCore::wait_for(*this, other, mine, theirs);
    return;
  }
  detail::Joining joining(*this, theirs.id, !do_is_non_blocking());
  StreamCore::wait_for(*this, other, mine, theirs);
  joining.done();
  if (!Captures::instance().is_open(device_->backend(), theirs.id)) StreamCore::set_shared(*this);
}

void Stream::wait(const StreamPtr& other) {
  if (!other) throw Error(Errc::invalid_argument, "Stream::wait", describe(), "the stream to wait for is null");
  wait(*other);
}

// --- Host work --------------------------------------------------------------------------------------------------------

void Stream::launch_host_function(HostFunction function) {
  const StreamCall call(*this, "Stream::launch_host_function");
  call.require(Feature::host_functions);
  if (!function) call.refuse(Errc::invalid_argument, "the function is empty");
  const CaptureState capture = call.usable_capture();
  if (capture) call.require(Feature::host_functions_in_capture);
  if (is_watched()) [[unlikely]] {
    detail::out_of_line([&] {
      Watched watched(*this, OperationKind::host_function, "Stream::launch_host_function", capture);
      watched.run([&] { do_launch_host_function(detail::watched_function(watched->id, std::move(function)), capture); });
    });
  } else {
    do_launch_host_function(std::move(function), capture);
  }
}

void Stream::add_callback(StreamCallback callback) {
  const StreamCall call(*this, "Stream::add_callback");
  call.require(Feature::stream_callbacks);
  if (!callback) call.refuse(Errc::invalid_argument, "the callback is empty");
  call.refuse_in_capture();
  if (is_watched()) [[unlikely]] {
    Watched watched(*this, OperationKind::callback, call.operation(), CaptureState());
    watched.run([&] { do_add_callback(detail::watched_callback(watched->id, std::move(callback))); });
  } else {
    do_add_callback(std::move(callback));
  }
}

// --- Attributes -------------------------------------------------------------------------------------------------------

SynchronizationPolicy Stream::synchronization_policy() const {
  const StreamCall call(*this, "Stream::synchronization_policy");
  call.require(Feature::synchronization_policy);
  return do_synchronization_policy();
}

void Stream::set_synchronization_policy(SynchronizationPolicy policy) {
  const StreamCall call(*this, "Stream::set_synchronization_policy");
  call.require(Feature::synchronization_policy);
  call.check_enumerator("SynchronizationPolicy", policy, SynchronizationPolicy::block);
  do_set_synchronization_policy(policy);
}

AccessPolicyWindow Stream::access_policy_window() const {
  const StreamCall call(*this, "Stream::access_policy_window");
  call.require(Feature::access_policy_window);
  return do_access_policy_window();
}

void Stream::set_access_policy_window(const AccessPolicyWindow& window) {
  const StreamCall call(*this, "Stream::set_access_policy_window");
  call.require(Feature::access_policy_window);
  if (!(window.hit_ratio >= 0.0F && window.hit_ratio <= 1.0F)) {
    call.refuse(Errc::invalid_argument, "hit_ratio must be between 0 and 1");
  }
  for (const AccessProperty property : {window.hit, window.miss}) {
    call.check_enumerator("AccessProperty", property, AccessProperty::persisting);
  }
  call.check_bytes(window.size_bytes);
  do_set_access_policy_window(window);
}

void Stream::copy_attributes(const Stream& other) {
  const StreamCall call(*this, "Stream::copy_attributes");
  (void)StreamCall(other, call.operation());
  if (other.device_ != device_) {
    call.refuse(Errc::wrong_device, "the other stream is of " + other.device_->describe());
  }
  call.require(Feature::synchronization_policy);
  if (*this != other) do_copy_attributes(other);
}

}  // namespace weir

std::size_t std::hash<weir::StreamPtr>::operator()(const weir::StreamPtr& stream) const noexcept {
  return stream != nullptr ? stream->hash() : 0;
}
