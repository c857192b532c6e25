// SPDX-License-Identifier: Apache-2.0
#include "weir/stream.hpp"

#include <ostream>
#include <utility>

#include "core/captures.hpp"
#include "core/enumerator.hpp"
#include "core/thread_state.hpp"
#include "weir/backend.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

namespace weir {
namespace {

std::uintptr_t address(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

std::string hex(const void* p) {
  static constexpr char digits[] = "0123456789abcdef";
  std::uintptr_t value = address(p);
  std::string text;
  do {
    text.insert(text.begin(), digits[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + text;
}

}  // namespace

Stream::Stream(Device& device, void* handle, StreamKind kind, std::shared_ptr<const void> keep_alive)
    : device_(&device), handle_(handle), keep_alive_(std::move(keep_alive)), kind_(kind) {
  std::uint32_t flags = 0;
  if (kind == StreamKind::per_thread_default) {
    thread_ = detail::this_thread();
    flags |= flag_per_thread;
  }
  if (kind == StreamKind::legacy_default) flags |= flag_legacy;
  if (kind == StreamKind::borrowed || kind == StreamKind::adopted) flags |= flag_external;
  flags_.store(flags, std::memory_order_relaxed);
}

void Stream::renew(std::shared_ptr<const void> keep_alive) noexcept {
  keep_alive_ = std::move(keep_alive);
  closing_postponed_ = false;
  capture_.store(0, std::memory_order_relaxed);
  began_.store(0, std::memory_order_relaxed);
  joined_depth_.store(0, std::memory_order_relaxed);
  flags_.store(flag_external, std::memory_order_release);
}

Stream::~Stream() = default;

void Stream::dispose() noexcept {
  try {
    const bool was_closed = is_closed();
    if (!was_closed) begin_closing();
    if (!was_closed || closing_postponed_) finish_closing(destroys_handle());
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, "while a stream was destroyed: ", e.what());
  }
  if (capture_.load(std::memory_order_acquire) != 0) detail::Captures::instance().leave(*this);
  do_dispose();
}

void Stream::do_dispose() noexcept { delete this; }

bool Stream::is_of_another_thread() const noexcept { return thread_ != 0 && thread_ != detail::this_thread(); }

bool Stream::destroys_handle() const noexcept { return kind_ == StreamKind::owned || kind_ == StreamKind::adopted; }

// --- Checks -----------------------------------------------------------------------------------------------------------

void Stream::enter(const char* operation) const {
  constexpr std::uint32_t looked_at = flag_closed | flag_per_thread | flag_legacy | flag_deferred;
  if ((flags_.load(std::memory_order_relaxed) & looked_at) != 0 || detail::barred()) [[unlikely]] {
    enter_slowly(operation);
  }
}

void Stream::enter_slowly(const char* operation) const {
  check_usable(operation);
  const std::uint32_t flags = flags_.load(std::memory_order_relaxed);
  if ((flags & flag_deferred) != 0) const_cast<Stream*>(this)->free_deferred(false);
  if ((flags & flag_legacy) != 0 && detail::open_captures.load(std::memory_order_acquire) != 0 &&
      detail::Captures::instance().any_on(*device_, true)) {
    throw Error(Errc::capture_implicit, operation, describe(),
                "a blocking stream of this device is capturing, and the legacy default stream would have to be ordered against "
                "it; use a stream made by create_stream");
  }
}

void Stream::check_usable(const char* operation) const {
  if (detail::barred()) detail::throw_barred(operation);
  const std::uint32_t flags = flags_.load(std::memory_order_acquire);
  if ((flags & flag_closed) != 0) {
    throw Error(Errc::stream_closed, operation, describe(), "the stream was closed; create or wrap another");
  }
  if ((flags & flag_per_thread) != 0 && thread_ != detail::this_thread()) {
    throw Error(Errc::wrong_thread, operation, describe(),
                "this is another thread's per-thread default stream, which only that thread can name to the driver; call "
                "Device::per_thread_stream on this thread, or share a stream made by create_stream");
  }
}

void Stream::require(const char* operation, Feature feature) const {
  if (!device_->supports(feature)) [[unlikely]] {
    throw Error(Errc::unsupported, operation, describe(),
                "feature '" + std::string(to_string(feature)) + "' is absent: " + device_->feature(feature).reason);
  }
}

/// Whether the driver has to be asked: external code may have begun or ended a capture of the stream. Other objects may stand
/// for a thread's default stream, so that it is asked for while any capture is open.
bool Stream::asks_for_captures() const noexcept {
  const std::uint32_t flags = flags_.load(std::memory_order_relaxed);
  return (flags & flag_external) != 0 ||
         ((flags & flag_per_thread) != 0 && detail::open_captures.load(std::memory_order_acquire) != 0);
}

CaptureState Stream::asked_capture() const {
  if (!asks_for_captures()) return noted_capture(flags_.load(std::memory_order_acquire));
  CaptureState capture = do_capture_state();
  if (capture) capture.conditional_body = detail::Captures::instance().is_conditional_body(device_->backend(), capture.id);
  return capture;
}

CaptureState Stream::usable_capture_slowly(const char* operation) const {
  const CaptureState capture = asked_capture();
  if (capture.status == CaptureStatus::invalidated) {
    throw Error(Errc::capture_invalidated, operation, describe(),
                "an earlier error invalidated the capture; end it, which throws, and the stream is usable again");
  }
  return capture;
}

CaptureState Stream::active_capture(const char* operation) const {
  const CaptureState capture = usable_capture(operation);
  if (!capture) {
    throw Error(Errc::not_capturing, operation, describe(), "this adds a node to a capture, and the stream is not capturing");
  }
  return capture;
}

void Stream::check_host_wait(const char* operation) const {
  if (usable_capture(operation)) {
    throw Error(Errc::capture_unsupported, operation, describe(),
                "the stream is capturing, so there is nothing to wait for until the graph is launched; the capture goes on");
  }
  detail::check_unsafe_call(operation, *device_, *this);
}

void Stream::refuse_in_capture(const char* operation) const {
  if (usable_capture(operation)) {
    throw Error(Errc::capture_unsupported, operation, describe(), "this cannot be captured; the capture goes on");
  }
}

CaptureState Stream::usable_memory_capture(const char* operation) const {
  const CaptureState capture = usable_capture(operation);
  if (capture) require(operation, Feature::memory_operations_in_capture);
  return capture;
}

void Stream::check_lengths(const char* operation, std::size_t to, std::size_t from) const {
  if (to != from) {
    throw Error(Errc::length_mismatch, operation, describe(),
                "the destination has " + std::to_string(to) + " elements and the source " + std::to_string(from) +
                    "; copy a subspan of the longer one");
  }
}

// --- Identity ---------------------------------------------------------------------------------------------------------

void* Stream::native_handle() {
  enter("Stream::native_handle");
  set_shared();
  return handle_;
}

void* Stream::native_context() const {
  enter("Stream::native_context");
  require("Stream::native_context", Feature::native_context);
  return do_native_context();
}

std::uint64_t Stream::id() const {
  check_usable("Stream::id");
  return do_id();
}

bool Stream::is_non_blocking() const {
  check_usable("Stream::is_non_blocking");
  return do_is_non_blocking();
}

int Stream::priority() const {
  check_usable("Stream::priority");
  return do_priority();
}

std::string Stream::describe_handle() const {
  std::string text = device_->describe();
  switch (kind_) {
    case StreamKind::legacy_default: text += " default stream"; break;
    case StreamKind::per_thread_default: text += " per-thread default stream"; break;
    case StreamKind::borrowed: text += " borrowed stream " + hex(handle_); break;
    case StreamKind::adopted:
    case StreamKind::owned: text += " stream " + hex(handle_); break;
  }
  return text;
}

std::string Stream::describe() const {
  std::string text = describe_handle();
  if (is_closed()) return text + " (closed)";
  if (detail::barred()) return text;
  try {
    const CaptureStatus status = known_capture().status;
    if (status == CaptureStatus::active) text += " (capturing)";
    if (status == CaptureStatus::invalidated) text += " (capture invalidated)";
  } catch (const std::exception&) {
    // A description is part of every error message; it must not replace the error by one of its own.
  }
  return text;
}

std::strong_ordering Stream::compare(const Stream& other) const noexcept {
  if (this == &other) return std::strong_ordering::equal;
  const auto key = [](const Stream& s) {
    return std::tuple(address(s.device_), address(s.handle_), s.thread_, s.is_closed() ? address(&s) : 0);
  };
  return key(*this) <=> key(other);
}

std::size_t Stream::hash() const noexcept {
  const std::uint64_t mixed = address(device_) * 0x9E3779B97F4A7C15U ^ address(handle_) ^ (thread_ << 32U);
  return static_cast<std::size_t>(mixed * 0xC2B2AE3D27D4EB4FU ^ (mixed >> 29U));
}

std::ostream& operator<<(std::ostream& out, const Stream& stream) { return out << stream.describe(); }

// --- Ending -----------------------------------------------------------------------------------------------------------

void Stream::begin_closing() noexcept {
  flags_.fetch_or(flag_closed, std::memory_order_release);
  if (detail::open_captures.load(std::memory_order_acquire) != 0) {
    // The owner of a handle ends what was begun on it by any object; a borrower what it began itself.
    const auto capture = detail::Captures::instance().find(origin());
    if (capture && (destroys_handle() || capture->id == began_.load(std::memory_order_relaxed))) drop_capture(capture->id);
  }
  free_deferred(true);
}

void Stream::finish_closing(bool destroy) {
  closing_postponed_ = false;
  // What a wrapped stream needs is let go of only when the driver has let go of the stream, whether or not that failed.
  const std::shared_ptr<const void> keep_alive = std::move(keep_alive_);
  do_close(destroy);
}

void Stream::check_closable(const char* operation) const {
  if (detail::barred()) detail::throw_barred(operation);
  if (kind_ == StreamKind::legacy_default || kind_ == StreamKind::per_thread_default) {
    throw Error(Errc::invalid_argument, operation, describe(), "a default stream cannot be closed; let go of it instead");
  }
}

void Stream::close() {
  if (is_closed()) return;
  check_closable("Stream::close");
  begin_closing();
  // Memory that is to be freed on this stream needs its handle: then the stream's last owner, memory included, closes it.
  if (dependents() != 0) {
    closing_postponed_ = true;
    return;
  }
  finish_closing(destroys_handle());
}

void* Stream::release_handle() {
  const char* const operation = "Stream::release_handle";
  enter(operation);
  check_closable(operation);
  if (!destroys_handle()) {
    throw Error(Errc::invalid_argument, operation, describe(), "the stream does not own its handle");
  }
  if (dependents() != 0) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "memory allocated on the stream is to be freed on it; drop the memory first");
  }
  if ((flags_.load(std::memory_order_acquire) & flag_deferred) != 0) {
    throw Error(Errc::invalid_argument, operation, describe(),
                "memory allocated on the stream is yet to be freed on it, which a capture forbids; end that capture, and try "
                "again");
  }
  void* const handle = handle_;
  begin_closing();
  finish_closing(false);
  return handle;
}

// --- Ordering ---------------------------------------------------------------------------------------------------------

void Stream::synchronize() {
  enter("Stream::synchronize");
  check_host_wait("Stream::synchronize");
  do_synchronize();
  if (std::exception_ptr error = do_take_host_error()) std::rethrow_exception(std::move(error));
}

bool Stream::is_complete() const {
  enter("Stream::is_complete");
  check_host_wait("Stream::is_complete");
  return do_is_complete();
}

EventPtr Stream::record(const EventOptions& options) {
  enter("Stream::record");
  EventPtr event = device_->create_event(options);
  record(*event);
  return event;
}

void Stream::record(Event& event) {
  const char* const operation = "Stream::record";
  enter(operation);
  check_recordable(operation, event);
  const CaptureState capture = usable_capture(operation);
  do_record(event, capture);
  std::uint64_t state = Event::recorded;
  if (capture) [[unlikely]] {
    const bool external = !detail::Captures::instance().is_open(device_->backend(), capture.id);
    state = Event::captured_base + capture.id * 2 + (external ? 1 : 0);
  }
  event.record_state_.store(state, std::memory_order_release);
}

void Stream::record_external(Event& event) {
  const char* const operation = "Stream::record_external";
  enter(operation);
  require(operation, Feature::external_events);
  check_recordable(operation, event);
  do_record_external(event, active_capture(operation));
  // The launches of the graph record it, so the host may ask for it like for any other.
  event.record_state_.store(Event::recorded, std::memory_order_release);
}

void Stream::check_recordable(const char* operation, const Event& event) const {
  if (&event.device() != device_) {
    throw Error(Errc::wrong_device, operation, describe(),
                "the event is of " + event.device().describe() + "; an event is recorded on streams of its own device only");
  }
}

void Stream::check_same_backend(const char* operation, const Device& other) const {
  if (&other.backend() != &device_->backend()) [[unlikely]] {
    throw Error(Errc::unsupported, operation, describe(),
                "it would wait for work on " + other.describe() +
                    ", and no driver can wait for another vendor's device; synchronize on the host in between");
  }
}

void Stream::check_join(const char* operation, const CaptureState& mine, std::uint64_t theirs, bool theirs_open) const {
  if (mine.status == CaptureStatus::active) {
    if (theirs == 0) {
      throw Error(Errc::capture_isolation, operation, describe(),
                  "the stream is capturing and would wait for work outside the capture, which is done only once; wait before "
                  "the capture begins, or use wait_external; the capture goes on");
    }
    if (theirs != mine.id && theirs_open) {
      throw Error(Errc::capture_merge, operation, describe(),
                  "both sides are capturing, and not into the same graph; end one capture first; both captures go on");
    }
  }
  if (theirs != 0 && !theirs_open) {
    throw Error(Errc::captured_event, operation, describe(),
                "the event was recorded in a capture that has ended, so it stands for no point of any stream; record it again");
  }
  if (theirs != 0 && mine.status == CaptureStatus::none && kind_ == StreamKind::legacy_default) {
    throw Error(Errc::capture_unsupported, operation, describe(),
                "the legacy default stream cannot join a capture; use a stream made by create_stream");
  }
}

void Stream::wait(const Event& event) {
  const char* const operation = "Stream::wait";
  enter(operation);
  check_same_backend(operation, event.device());
  const CaptureState mine = usable_capture(operation);
  const std::uint64_t state = event.record_state_.load(std::memory_order_acquire);
  if (state < Event::captured_base) [[likely]] {
    if (mine && state == Event::recorded) [[unlikely]] check_join(operation, mine, 0, false);
    do_wait(event, mine);
    // An event that external code knows may have been recorded in a capture of its own.
    if (event.is_shared() && !mine && do_capture_state().status != CaptureStatus::none) [[unlikely]] set_shared();
    return;
  }
  const std::uint64_t capture = (state - Event::captured_base) / 2;
  const bool external = (state - Event::captured_base) % 2 != 0;
  check_join(operation, mine, capture, external || detail::Captures::instance().is_open(device_->backend(), capture));
  if (&event.device() != device_) require(operation, Feature::cross_device_capture);
  if (mine) {
    do_wait(event, mine);
    return;
  }
  detail::Joining joining(*this, capture, !do_is_non_blocking());
  do_wait(event, mine);
  joining.done();
  if (external) set_shared();
}

const Event& Stream::checked(const EventPtr& event) const {
  if (!event) throw Error(Errc::invalid_argument, "Stream::wait", describe(), "the event is null");
  return *event;
}

Stream& Stream::checked(const StreamPtr& stream) const {
  if (!stream) throw Error(Errc::invalid_argument, "Stream::wait", describe(), "the stream to wait for is null");
  return *stream;
}

void Stream::wait_external(const Event& event) {
  const char* const operation = "Stream::wait_external";
  enter(operation);
  require(operation, Feature::external_events);
  check_same_backend(operation, event.device());
  do_wait_external(event, active_capture(operation));
}

void Stream::wait(Stream& other) {
  const char* const operation = "Stream::wait";
  enter(operation);
  other.enter(operation);
  check_same_backend(operation, *other.device_);
  if (handle_ == other.handle_ && compare(other) == 0) return;
  const CaptureState mine = usable_capture(operation);
  const CaptureState theirs = other.usable_capture(operation);
  if (!mine && !theirs) [[likely]] {
    do_wait_stream(other, mine);
    return;
  }
  check_join(operation, mine, theirs.id, true);
  if (theirs && other.device_ != device_) require(operation, Feature::cross_device_capture);
  if (mine) {
    do_wait_stream(other, mine);
    return;
  }
  detail::Joining joining(*this, theirs.id, !do_is_non_blocking());
  do_wait_stream(other, mine);
  joining.done();
  if (!detail::Captures::instance().is_open(device_->backend(), theirs.id)) set_shared();
}

// --- Host work --------------------------------------------------------------------------------------------------------

void Stream::launch_host_function(HostFunction function) {
  const char* const operation = "Stream::launch_host_function";
  enter(operation);
  require(operation, Feature::host_functions);
  if (!function) throw Error(Errc::invalid_argument, operation, describe(), "the function is empty");
  const CaptureState capture = usable_capture(operation);
  if (capture) require(operation, Feature::host_functions_in_capture);
  do_launch_host_function(std::move(function), capture);
}

void Stream::add_callback(StreamCallback callback) {
  const char* const operation = "Stream::add_callback";
  enter(operation);
  require(operation, Feature::stream_callbacks);
  if (!callback) throw Error(Errc::invalid_argument, operation, describe(), "the callback is empty");
  refuse_in_capture(operation);
  do_add_callback(std::move(callback));
}

// --- Attributes -------------------------------------------------------------------------------------------------------

SynchronizationPolicy Stream::synchronization_policy() const {
  enter("Stream::synchronization_policy");
  require("Stream::synchronization_policy", Feature::synchronization_policy);
  return do_synchronization_policy();
}

void Stream::set_synchronization_policy(SynchronizationPolicy policy) {
  enter("Stream::set_synchronization_policy");
  require("Stream::set_synchronization_policy", Feature::synchronization_policy);
  detail::check_enumerator("Stream::set_synchronization_policy", *this, "SynchronizationPolicy", policy,
                           SynchronizationPolicy::block);
  do_set_synchronization_policy(policy);
}

AccessPolicyWindow Stream::access_policy_window() const {
  enter("Stream::access_policy_window");
  require("Stream::access_policy_window", Feature::access_policy_window);
  return do_access_policy_window();
}

void Stream::set_access_policy_window(const AccessPolicyWindow& window) {
  const char* const operation = "Stream::set_access_policy_window";
  enter(operation);
  require(operation, Feature::access_policy_window);
  if (!(window.hit_ratio >= 0.0F && window.hit_ratio <= 1.0F)) {
    throw Error(Errc::invalid_argument, operation, describe(), "hit_ratio must be between 0 and 1");
  }
  for (const AccessProperty property : {window.hit, window.miss}) {
    detail::check_enumerator(operation, *this, "AccessProperty", property, AccessProperty::persisting);
  }
  (void)detail::byte_count(operation, window.size_bytes, 1);
  do_set_access_policy_window(window);
}

void Stream::copy_attributes(const Stream& other) {
  const char* const operation = "Stream::copy_attributes";
  enter(operation);
  other.enter(operation);
  if (other.device_ != device_) {
    throw Error(Errc::wrong_device, operation, describe(), "the other stream is of " + other.device_->describe());
  }
  require(operation, Feature::synchronization_policy);
  if (compare(other) != 0) do_copy_attributes(other);
}

}  // namespace weir
