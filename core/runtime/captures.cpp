// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/captures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/enum_name.hpp"
#include "core/base/no_destructor.hpp"
#include "core/runtime/stream_core.hpp"
#include "core/runtime/thread_state.hpp"
#include "weir/error.hpp"
#include "weir/graph.hpp"
#include "weir/module.hpp"
#include "weir/stream.hpp"

// Implements `Captures`, and the errors for calls that an open capture forbids.
namespace weir {

std::string_view to_string(CaptureMode mode) noexcept {
  return detail::enum_name(mode, {"global", "thread_local", "relaxed"});
}

std::string_view to_string(CaptureStatus status) noexcept {
  return detail::enum_name(status, {"none", "active", "invalidated"});
}

namespace detail {

std::atomic<std::uint32_t> open_captures{0};

namespace {

bool is_of(const Backend& backend, const OpenCapture& capture) noexcept {
  return &capture.origin.device->backend() == &backend;
}

}  // namespace

Captures& Captures::instance() noexcept {
  static NoDestructor<Captures> captures;
  return *captures;
}

// --- Begin and end ----------------------------------------------------------------------------------------------------

void Captures::open(Stream& stream, OpenCapture capture, bool blocking, GraphPtr resumed,
                    std::shared_ptr<CapturedWork>&& work, const std::function<std::uint64_t()>& begin) {
  const Device* const device = capture.origin.device;
  std::unique_ptr<Entry> replaced;  // declared before the lock, so destroyed after it: destroying its objects may run code
                                    // of the program
  std::unique_lock lock(mutex_);
  device_wide_calls_over_.wait(lock, [&] { return std::ranges::count(device_wide_calls_, device) == 0; });
  if (resumed != nullptr && continues(*resumed)) {
    lock.unlock();
    throw_continued_graph("Stream::resume_capture", stream.describe(), *resumed);
  }
  // Do everything that can fail before the driver begins the capture.
  auto entry = spare_ != nullptr ? std::move(spare_) : std::make_unique<Entry>();
  if (const Entry* const outer = find(device->backend(), capture.outer)) capture.mode = outer->capture.mode;
  entry->capture = capture;
  entry->members.assign(1, {&stream, device, blocking});
  entry->resources.resumed = std::move(resumed);
  entry->resources.work = std::move(work);
  open_.reserve(open_.size() + 1);
  entry->capture.id = begin();
  // A stream can be in only one capture. So if there is an entry for an earlier one, external code has ended that capture.
  const auto earlier = std::find_if(open_.begin(), open_.end(), [&](const std::unique_ptr<Entry>& r) {
    return !r->capture.ending && r->capture.origin == entry->capture.origin;
  });
  if (earlier != open_.end()) replaced = remove(**earlier);
  forget(stream);
  StreamCore::enter_capture(stream, entry->capture.id, entry->capture.outer != 0, entry->resources.work != nullptr);
  open_.push_back(std::move(entry));
  open_captures.store(static_cast<std::uint32_t>(open_.size()), std::memory_order_release);
}

std::optional<CaptureResources> Captures::claim(const Backend& backend, std::uint64_t id) noexcept {
  const std::lock_guard lock(mutex_);
  Entry* const entry = find(backend, id);
  if (entry == nullptr || entry->capture.bodies != 0 || std::exchange(entry->capture.ending, true)) return std::nullopt;
  return std::move(entry->resources);
}

void Captures::close(const Backend& backend, std::uint64_t id) noexcept {
  CaptureResources kept;  // these two are destroyed after the lock is released, because their destructors may run code of
                          // the program
  std::shared_ptr<void> attached;
  const std::lock_guard lock(mutex_);
  Entry* const entry = find(backend, id);
  if (entry == nullptr) return;
  for (auto& body : std::exchange(entry->resources.open_bodies, {}))
    (void)leave_open_in(find(backend, entry->capture.outer), std::move(body));
  std::unique_ptr<Entry> closed = remove(*entry);
  kept = std::exchange(closed->resources, {});
  attached = std::move(closed->attached);
  closed->capture = {};
  spare_ = std::move(closed);
}

bool Captures::leave_open(const Backend& backend, std::uint64_t id, std::shared_ptr<const void> native_stream) noexcept {
  const std::lock_guard lock(mutex_);
  Entry* const body = find(backend, id);
  // The driver destroys captures that are nested in this one together with this one's graph.
  for (auto& nested : std::exchange(body->resources.open_bodies, {})) (void)leave_open_in(nullptr, std::move(nested));
  return leave_open_in(find(backend, body->capture.outer), std::move(native_stream));
}

void Captures::leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept {
  const std::lock_guard lock(mutex_);
  (void)leave_open_in(nullptr, std::move(native_stream));
}

bool Captures::leave_open_in(Entry* outer, std::shared_ptr<const void> native_stream) noexcept {
  static NoDestructor<std::vector<std::shared_ptr<const void>>> for_ever;
  (outer != nullptr ? outer->resources.open_bodies : *for_ever).push_back(std::move(native_stream));
  return outer != nullptr;
}

std::unique_ptr<Captures::Entry> Captures::remove(const Entry& entry) noexcept {
  for (const Member& member : entry.members) {
    if (member.stream != nullptr) StreamCore::leave_capture(*member.stream, entry.capture.id);
  }
  const auto place = std::find_if(open_.begin(), open_.end(), [&](const auto& r) { return r.get() == &entry; });
  std::unique_ptr<Entry> removed = std::move(*place);
  open_.erase(place);
  open_captures.store(static_cast<std::uint32_t>(open_.size()), std::memory_order_release);
  return removed;
}

void Captures::leave(const Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  forget(stream);
}

void Captures::forget(const Stream& stream) noexcept {
  for (const auto& entry : open_) {
    for (Member& member : entry->members) {
      if (member.stream == &stream) member.stream = nullptr;
    }
  }
}

void CaptureHeld::hold(bool held) noexcept {
  Captures& captures = Captures::instance();
  const std::lock_guard lock(captures.mutex_);
  StreamCore::hold(*stream_, held);  // separately, because there is no entry if other code began the capture
  auto* const entry = captures.find(stream_->device().backend(), id_);
  if (entry == nullptr) return;
  held ? ++entry->capture.bodies : --entry->capture.bodies;
  for (const auto& member : entry->members) {
    if (member.stream != nullptr) StreamCore::hold(*member.stream, entry->capture.bodies != 0);
  }
}

// --- Questions --------------------------------------------------------------------------------------------------------

Captures::Entry* Captures::find(const Backend& backend, std::uint64_t id) const noexcept {
  for (const auto& entry : open_) {
    if (entry->capture.id == id && is_of(backend, entry->capture)) return entry.get();
  }
  return nullptr;
}

std::optional<OpenCapture> Captures::find(const StreamKey& origin) const {
  const std::lock_guard lock(mutex_);
  const OpenCapture* ending = nullptr;
  for (const auto& entry : open_) {
    if (entry->capture.origin != origin) continue;
    if (!entry->capture.ending) return entry->capture;
    ending = &entry->capture;
  }
  return ending != nullptr ? std::optional(*ending) : std::nullopt;
}

std::shared_ptr<CapturedWork> Captures::work(const Backend& backend, std::uint64_t id) const noexcept {
  const std::lock_guard lock(mutex_);
  const Entry* const entry = find(backend, id);
  return entry != nullptr ? entry->resources.work : nullptr;
}

void Captures::write_down(const Stream& stream, std::shared_ptr<CapturedWork> work) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = StreamCore::stored_capture(stream, StreamCore::flags(stream)).id;
  Entry* const entry = find(stream.device().backend(), id);
  if (entry == nullptr) return;
  entry->resources.work = std::move(work);
  for (const Member& member : entry->members) {
    if (member.stream != nullptr) StreamCore::enter_capture(*member.stream, id, entry->capture.outer != 0, true);
  }
}

bool Captures::is_open(const Backend& backend, std::uint64_t id) const noexcept {
  const std::lock_guard lock(mutex_);
  return find(backend, id) != nullptr;
}

bool Captures::is_continued(const Graph& graph) const noexcept {
  const std::lock_guard lock(mutex_);
  return continues(graph);
}

bool Captures::continues(const Graph& graph) const noexcept {
  return std::any_of(open_.begin(), open_.end(), [&](const auto& r) { return r->resources.resumed.get() == &graph; });
}

bool Captures::keep(const Backend& backend, std::uint64_t id, const ModulePtr& module) {
  const std::lock_guard lock(mutex_);
  Entry* entry = find(backend, id);
  while (entry != nullptr && entry->capture.outer != 0) entry = find(backend, entry->capture.outer);
  if (entry == nullptr) return false;
  std::vector<ModulePtr>& modules = entry->resources.modules;
  if (std::find(modules.begin(), modules.end(), module) == modules.end()) modules.push_back(module);
  return true;
}

std::shared_ptr<void> Captures::attach(const Backend& backend, std::uint64_t id, std::shared_ptr<void>&& object) {
  const std::lock_guard lock(mutex_);
  Entry* const entry = find(backend, id);
  if (entry == nullptr) return nullptr;
  if (entry->attached == nullptr) entry->attached = std::move(object);
  return entry->attached;
}

std::optional<OpenCapture> Captures::forbidding_unsafe_calls(const Backend& backend) const noexcept {
  const std::uint64_t me = this_thread();
  const std::lock_guard lock(mutex_);
  for (const auto& entry : open_) {
    const OpenCapture& c = entry->capture;
    if (!is_of(backend, c)) continue;
    if (c.mode == CaptureMode::global || (c.mode == CaptureMode::thread_local_ && c.thread == me)) return c;
  }
  return std::nullopt;
}

bool Captures::any_on(const Device& device, bool blocking_only) const noexcept {
  const std::lock_guard lock(mutex_);
  return has_on(device, blocking_only);
}

bool Captures::has_on(const Device& device, bool blocking_only) const noexcept {
  for (const auto& entry : open_) {
    for (const Member& member : entry->members) {
      if (member.device == &device && (member.blocking || !blocking_only)) return true;
    }
  }
  return false;
}

// --- Joins ------------------------------------------------------------------------------------------------------------

JoinCapture::JoinCapture(Stream& stream, std::uint64_t id, bool blocking) : stream_(stream), id_(id) {
  Captures& captures = Captures::instance();
  std::unique_lock lock(captures.mutex_);
  captures.device_wide_calls_over_.wait(
      lock, [&] { return std::ranges::count(captures.device_wide_calls_, &stream.device()) == 0; });
  if (auto* const entry = captures.find(stream.device().backend(), id)) {
    captures.forget(stream);
    entry->members.push_back({&stream, &stream.device(), blocking});
  }
}

JoinCapture::~JoinCapture() {
  if (joined_) return;
  Captures& captures = Captures::instance();
  const std::lock_guard lock(captures.mutex_);
  auto* const entry = captures.find(stream_.device().backend(), id_);
  if (entry != nullptr) std::erase_if(entry->members, [&](const auto& member) { return member.stream == &stream_; });
}

void JoinCapture::done() noexcept {
  joined_ = true;
  Captures& captures = Captures::instance();
  const std::lock_guard lock(captures.mutex_);
  // The capture may have ended meanwhile.
  if (const auto* const entry = captures.find(stream_.device().backend(), id_)) {
    StreamCore::enter_capture(stream_, id_, entry->capture.outer != 0, entry->resources.work != nullptr);
    StreamCore::hold(stream_, entry->capture.bodies != 0);
  }
}

// --- Refusals ---------------------------------------------------------------------------------------------------------

void throw_continued_graph(const char* operation, const std::string& object, const Graph& graph) {
  throw Error(Errc::capture_unsupported, operation, object,
              "a capture continues " + graph.describe() +
                  " and changes it; end that capture first, or use a clone that was made before; the capture continues");
}

void throw_device_captures(const char* operation, const Device& device) {
  throw Error(
      Errc::capture_unsupported, operation, device.describe(),
      "a stream of this device is capturing, so its work does not run and cannot be waited for; the capture continues");
}

void throw_unsafe_call(const char* operation, const std::string& object, const OpenCapture& capture) {
  const StreamKey& origin = capture.origin;  // identified by its key, because the `Stream` object may have been destroyed
  throw Error(Errc::capture_unsupported, operation, object,
              "a capture in mode '" + std::string(to_string(capture.mode)) + "' is open on " +
                  (origin.thread != 0 ? origin.device->describe() + " per-thread default stream"
                                      : support::label_of({origin.device, origin.handle, 0})) +
                  ", and the driver may have to synchronize for this call; call it before or after the capture, or capture "
                  "in mode 'relaxed'");
}

}  // namespace detail

namespace support {

bool any_captures() noexcept { return detail::open_captures.load(std::memory_order_acquire) != 0; }

std::shared_ptr<void> attach_to_capture(const Stream& stream, std::shared_ptr<void> object) {
  const std::uint64_t id = stream.capture_id();
  return id == 0 ? nullptr : detail::Captures::instance().attach(stream.device().backend(), id, std::move(object));
}

std::string_view capture_refusal(Errc code) noexcept {
  switch (code) {
    case Errc::already_capturing: return "the stream is already capturing; that capture continues";
    case Errc::not_capturing: return "the stream is not capturing";
    case Errc::capture_unmatched:
      return "another stream began the capture that this stream is in; end it on that stream, after that stream has waited "
             "for this one; the capture continues";
    case Errc::capture_unjoined:
      return "a stream that joined the capture has work that the first stream did not wait for; call Stream::wait on the "
             "first stream before the end; the capture is dropped";
    case Errc::capture_isolation:
      return "the stream is capturing and would wait for work outside the capture, which runs only once; wait before the "
             "capture begins, or use wait_external; the capture continues";
    case Errc::capture_merge:
      return "both streams are capturing, but not in the same capture; end one capture first; both captures continue";
    case Errc::captured_event:
      return "the event was recorded in a capture that has ended, so it is no longer a point in the order of a stream; "
             "record it again";
    default: return to_string(code);
  }
}

DeviceWideCall::DeviceWideCall(const char* operation, const Device& device) : device_(device) {
  detail::Captures& captures = detail::Captures::instance();
  {
    const std::lock_guard lock(captures.mutex_);
    if (!captures.has_on(device, false)) {
      captures.device_wide_calls_.push_back(&device);
      return;
    }
  }
  detail::throw_device_captures(operation, device);
}

DeviceWideCall::~DeviceWideCall() {
  detail::Captures& captures = detail::Captures::instance();
  const std::lock_guard lock(captures.mutex_);
  captures.device_wide_calls_.erase(std::ranges::find(captures.device_wide_calls_, &device_));
  captures.device_wide_calls_over_.notify_all();
}

}  // namespace support
}  // namespace weir
