// SPDX-License-Identifier: Apache-2.0
#include "weir/stream.hpp"

#include <fmt/format.h>

#include <ostream>
#include <utility>

#include "core/runtime/names.hpp"
#include "core/runtime/impl.hpp"
#include "core/runtime/stream_call.hpp"
#include "core/runtime/tools.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

// The functions of `Stream` for identity, closing and attributes, and the checks that all its functions share.
namespace weir {

using detail::Captures;
using detail::impl;
using detail::StreamCall;
using detail::StreamCore;

namespace {

std::uintptr_t address(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

StreamImpl::StreamImpl(Device& device, void* handle, StreamKind kind, std::shared_ptr<const void> keep_alive)
    : Stream(device, handle, kind), keep_alive_(std::move(keep_alive)) {
  std::uint32_t flags = 0;
  if (kind == StreamKind::per_thread_default) {
    thread_ = detail::this_thread();
    flags |=
        // Other code can use this stream without getting its handle from Weir.
        StreamCore::flag_per_thread | StreamCore::flag_external;
  }
  if (kind == StreamKind::legacy_default) flags |= StreamCore::flag_legacy;
  if (kind == StreamKind::borrowed || kind == StreamKind::adopted) flags |= StreamCore::flag_external;
  if (detail::is_watched()) flags |= StreamCore::flag_watched;
  flags_.store(flags, std::memory_order_relaxed);
}

void StreamImpl::renew(std::shared_ptr<const void> keep_alive) noexcept {
  keep_alive_ = std::move(keep_alive);
  closing_postponed_ = false;
  capture_.store(0, std::memory_order_relaxed);
  began_.store(0, std::memory_order_relaxed);
  flags_.store(StreamCore::flag_external | (detail::is_watched() ? StreamCore::flag_watched : 0), std::memory_order_release);
}

StreamImpl::~StreamImpl() = default;

bool Stream::is_closed() const noexcept { return (StreamCore::flags(*this) & StreamCore::flag_closed) != 0; }

void StreamImpl::mark_private() noexcept { flags_.fetch_and(~StreamCore::flag_external, std::memory_order_relaxed); }

void StreamImpl::dispose() noexcept {
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

void StreamImpl::do_dispose() noexcept { delete this; }

bool StreamImpl::is_of_another_thread() const noexcept { return thread_ != 0 && thread_ != detail::this_thread(); }

// --- Checks -----------------------------------------------------------------------------------------------------------

void StreamCall::enter_slowly(StreamCall call) {
  call.check_usable();
  check_not_held(call.object_, call.operation_);
  const std::uint32_t flags = StreamCore::flags(call.object_);
  if ((flags & StreamCore::flag_deferred) != 0) StreamCore::free_deferred(const_cast<Stream&>(call.object_), false);
  if ((flags & StreamCore::flag_legacy) != 0 && detail::open_captures.load(std::memory_order_acquire) != 0 &&
      Captures::instance().any_on(call.device(), true)) {
    call.throw_error(Errc::capture_implicit,
                     "a blocking stream of this device is capturing, and the legacy default stream would have to be ordered "
                     "against it; use a stream of create_stream");
  }
}

void StreamCall::check_usable() const {
  if (detail::is_refused(device())) detail::throw_refused(device(), object_, operation_);
  const std::uint32_t flags = StreamCore::flags(object_);
  if ((flags & StreamCore::flag_closed) != 0)
    throw_error(Errc::stream_closed, "the stream was closed; create or wrap another stream");
  if ((flags & StreamCore::flag_per_thread) != 0 && StreamCore::key(object_).thread != detail::this_thread()) {
    throw_error(Errc::wrong_thread,
                "this is another thread's per-thread default stream, which only that thread can use; call "
                "Device::per_thread_stream on this thread, or share a stream of create_stream");
  }
}

void StreamCall::check_not_held(const Stream& stream, const char* operation) {
  if ((StreamCore::flags(stream) & StreamCore::flag_held) != 0) throw_held(stream, operation);
}

void StreamCall::throw_held(const Stream& stream, const char* operation) {
  throw Error(Errc::capture_unmatched, operation, stream.describe(),
              "the body of a conditional node of this stream's capture is being captured; until the body's function "
              "returns, the stream accepts no work and cannot be closed, and its capture cannot end; enqueue on the stream "
              "that is passed to the function; the capture continues");
}

void StreamCall::throw_invalidated(StreamCall call) {
  call.throw_error(
      Errc::capture_invalidated,
      "an earlier error invalidated the capture; end the capture, which throws; then the stream is usable again");
}

CaptureState StreamCall::active_capture() const {
  const CaptureState capture = usable_capture();
  if (!capture) throw_error(Errc::not_capturing, "this call adds a node to a capture, but the stream is not capturing");
  return capture;
}

void StreamCall::throw_host_wait(StreamCall call) {
  call.throw_error(Errc::capture_unsupported,
                   "the stream is capturing, so its work runs only when the graph is launched; the capture continues");
}

void StreamCall::throw_if_capturing() const {
  if (usable_capture()) throw_error(Errc::capture_unsupported, "this operation cannot be captured; the capture continues");
}

void StreamCall::check_same_backend(const Device& other) const {
  if (&other.backend() != &device().backend()) [[unlikely]] {
    throw_error(Errc::unsupported,
                "the stream would wait for work on " + other.describe() +
                    ", but drivers cannot wait for another vendor's device; synchronize on the host in between");
  }
}

namespace {

void check_closable(const Stream& stream, const char* operation) {
  detail::enter(operation);
  if (stream.kind() == StreamKind::legacy_default || stream.kind() == StreamKind::per_thread_default) {
    throw Error(Errc::invalid_argument, operation, stream.describe(),
                "a default stream cannot be closed; just release the Stream object");
  }
}

}  // namespace

// --- Identity ---------------------------------------------------------------------------------------------------------

void* Stream::share_native_handle() {
  const StreamCall call(*this, "Stream::share_native_handle");
  StreamCore::set_shared(*this);
  return handle_;
}

void* Stream::native_context() const {
  const StreamCall call(*this, "Stream::native_context");
  call.require(Feature::native_context);
  return impl(*this).do_native_context();
}

std::uint64_t Stream::id() const {
  const StreamCall call(*this, "Stream::id", StreamCall::ReadOnly());
  return impl(*this).do_id();
}

bool Stream::is_non_blocking() const {
  const StreamCall call(*this, "Stream::is_non_blocking", StreamCall::ReadOnly());
  return impl(*this).do_is_non_blocking();
}

int Stream::priority() const {
  const StreamCall call(*this, "Stream::priority", StreamCall::ReadOnly());
  return impl(*this).do_priority();
}

std::string StreamImpl::describe_handle() const {
  std::string text = device_->describe();
  switch (kind_) {
    case StreamKind::legacy_default: text += " default stream"; break;
    case StreamKind::per_thread_default: text += " per-thread default stream"; break;
    case StreamKind::borrowed: text += " borrowed stream"; break;
    case StreamKind::adopted:
    case StreamKind::owned: text += " stream"; break;
  }
  text += detail::names::quoted(name());
  const bool has_handle = kind_ != StreamKind::legacy_default && kind_ != StreamKind::per_thread_default;
  return has_handle ? text + fmt::format(" {}", handle_) : text;
}

std::string Stream::describe() const {
  std::string text = StreamCore::describe_handle(*this);
  if (is_closed()) return text + " (closed)";
  if (detail::is_refused(*device_)) return text;
  try {
    const CaptureStatus status = StreamCore::known_capture(*this).status;
    if (status == CaptureStatus::active) text += " (capturing)";
    if (status == CaptureStatus::invalidated) text += " (capture invalidated)";
  } catch (const std::exception&) {
    // Ignore the error: the description may be a part of an error message.
  }
  return text;
}

std::strong_ordering StreamCore::compare(const Stream& a, const Stream& b) noexcept {
  if (&a == &b) return std::strong_ordering::equal;
  const auto key = [](const Stream& s) {
    return std::tuple(address(s.device_), address(s.handle_), impl(s).thread_, s.is_closed() ? address(&s) : 0);
  };
  return key(a) <=> key(b);
}

bool operator==(const Stream& a, const Stream& b) noexcept { return StreamCore::compare(a, b) == 0; }
std::strong_ordering operator<=>(const Stream& a, const Stream& b) noexcept { return StreamCore::compare(a, b); }

std::size_t Stream::hash() const noexcept {
  const std::uint64_t mixed =
      address(device_) * 0x9E3779B97F4A7C15U ^ address(handle_) ^ (StreamCore::key(*this).thread << 32U);
  return static_cast<std::size_t>(mixed * 0xC2B2AE3D27D4EB4FU ^ (mixed >> 29U));
}

bool operator==(StreamRef a, StreamRef b) noexcept { return a <=> b == 0; }

std::strong_ordering operator<=>(StreamRef a, StreamRef b) noexcept {
  if (!a || !b) return static_cast<bool>(a) <=> static_cast<bool>(b);
  return *a <=> *b;
}

std::ostream& operator<<(std::ostream& out, const Stream& stream) { return out << stream.describe(); }

// --- Ending -----------------------------------------------------------------------------------------------------------

void StreamCore::begin_closing(Stream& stream) noexcept {
  const std::uint32_t flags = stream.flags_.fetch_or(flag_closed, std::memory_order_release);
  // Another object of a shared handle may have named it.
  if ((flags & flag_named) != 0 || ((flags & flag_external) != 0 && destroys_handle(stream))) forget_name(stream);
  if (open_captures.load(std::memory_order_acquire) != 0) {
    // If this object owns the handle, end any capture of it; otherwise only a capture that this object began. The capture of
    // a conditional node's body is ended elsewhere, when the function that captures the body returns.
    const auto capture = Captures::instance().find(key(stream));
    if (capture && capture->outer == 0 &&
        (destroys_handle(stream) || capture->id == impl(stream).began_.load(std::memory_order_relaxed))) {
      drop_capture(stream, capture->id);
    }
  }
  free_deferred(stream, true);
}

void StreamCore::finish_closing(Stream& stream, bool destroy) {
  StreamImpl& closed = impl(stream);
  closed.closing_postponed_ = false;
  // Destroyed at the end of this function: after the driver has released the stream, even if `do_close` throws.
  const std::shared_ptr<const void> keep_alive = std::move(closed.keep_alive_);
  closed.do_close(destroy);
}

void Stream::close() {
  if (is_closed()) return;
  check_closable(*this, "Stream::close");
  StreamCall::check_not_held(*this, "Stream::close");
  StreamCore::begin_closing(*this);
  // Memory that will be freed in the order of this stream still needs the handle. The release of the last such memory
  // destroys the stream.
  if (dependents() != 0) {
    StreamCore::postpone_closing(*this);
    return;
  }
  StreamCore::finish_closing(*this, StreamCore::destroys_handle(*this));
}

void* Stream::release_handle() {
  const StreamCall call(*this, "Stream::release_handle");
  check_closable(*this, call.operation());
  if (!StreamCore::destroys_handle(*this)) call.throw_error(Errc::invalid_argument, "the stream does not own its handle");
  if (StreamCore::is_of_partition(*this)) {
    call.throw_error(Errc::invalid_argument,
                     "the stream belongs to a partition, which would be destroyed while the handle is in use; keep the "
                     "stream, and use its native_handle");
  }
  if (dependents() != 0) {
    call.throw_error(Errc::invalid_argument,
                     "memory that was allocated on the stream must be freed on it; release the memory first");
  }
  if ((StreamCore::flags(*this) & StreamCore::flag_deferred) != 0) {
    call.throw_error(Errc::invalid_argument,
                     "memory that was allocated on the stream must still be freed on it, which a capture forbids; end that "
                     "capture, and try again");
  }
  void* const handle = handle_;
  StreamCore::begin_closing(*this);
  StreamCore::finish_closing(*this, false);
  return handle;
}

// --- Attributes -------------------------------------------------------------------------------------------------------

SynchronizationPolicy Stream::synchronization_policy() const {
  const StreamCall call(*this, "Stream::synchronization_policy");
  call.require(Feature::synchronization_policy);
  return impl(*this).do_synchronization_policy();
}

void Stream::set_synchronization_policy(SynchronizationPolicy policy) {
  const StreamCall call(*this, "Stream::set_synchronization_policy");
  call.require(Feature::synchronization_policy);
  call.check_enumerator("SynchronizationPolicy", policy, SynchronizationPolicy::block);
  impl(*this).do_set_synchronization_policy(policy);
}

AccessPolicyWindow Stream::access_policy_window() const {
  const StreamCall call(*this, "Stream::access_policy_window");
  call.require(Feature::access_policy_window);
  return impl(*this).do_access_policy_window();
}

void Stream::set_access_policy_window(const AccessPolicyWindow& window) {
  const StreamCall call(*this, "Stream::set_access_policy_window");
  call.require(Feature::access_policy_window);
  if (!(window.hit_ratio >= 0.0F && window.hit_ratio <= 1.0F)) {
    call.throw_error(Errc::invalid_argument, "`hit_ratio` must be between 0 and 1");
  }
  for (const AccessProperty property : {window.hit, window.miss}) {
    call.check_enumerator("AccessProperty", property, AccessProperty::persisting);
  }
  call.check_bytes(window.size_bytes);
  impl(*this).do_set_access_policy_window(window);
}

void Stream::copy_attributes(StreamRef from) {
  const StreamCall call(*this, "Stream::copy_attributes");
  const Stream& other = call.not_null(from, "the other stream");
  (void)StreamCall(other, call.operation());
  if (other.device_ != device_) {
    call.throw_error(Errc::wrong_device, "the other stream is of " + other.device_->describe());
  }
  call.require(Feature::synchronization_policy);
  if (*this != other) impl(*this).do_copy_attributes(other);
}

}  // namespace weir

std::size_t std::hash<weir::StreamRef>::operator()(weir::StreamRef stream) const noexcept {
  return stream ? stream->hash() : 0;
}
