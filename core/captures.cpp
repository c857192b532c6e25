// SPDX-License-Identifier: Apache-2.0
#include "core/captures.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/capture_hold.hpp"
#include "core/disposal.hpp"
#include "core/thread_state.hpp"
#include "weir/backend_support.hpp"
#include "weir/error.hpp"

namespace weir {

std::string_view to_string(CaptureMode mode) noexcept {
  switch (mode) {
    case CaptureMode::global: return "global";
    case CaptureMode::thread_local_: return "thread_local";
    case CaptureMode::relaxed: return "relaxed";
  }
  return "unknown";
}

std::string_view to_string(CaptureStatus status) noexcept {
  switch (status) {
    case CaptureStatus::none: return "none";
    case CaptureStatus::active: return "active";
    case CaptureStatus::invalidated: return "invalidated";
  }
  return "unknown";
}

namespace detail {

std::atomic<std::uint32_t> open_captures{0};

CaptureOpening::CaptureOpening(const Origin& origin) : origin_(origin) {
  Captures& captures = Captures::instance();
  {
    std::unique_lock lock(captures.mutex_);
    captures.opening_.push_back(origin);
    captures.count_open();
    captures.wait_for_device_wide_call(lock, *origin.device);
  }
  CaptureHold::wait_for_all();
}

CaptureOpening::~CaptureOpening() {
  Captures& captures = Captures::instance();
  {
    std::lock_guard lock(captures.mutex_);
    captures.opening_.erase(std::find(captures.opening_.begin(), captures.opening_.end(), origin_));
    captures.count_open();
    captures.changed_.notify_all();
    if (open_captures.load(std::memory_order_relaxed) != 0) return;
  }
  DisposalQueue::instance().captures_ended();
}

void Captures::count_open() noexcept {
  open_captures.store(static_cast<std::uint32_t>(open_.size() + opening_.size()), std::memory_order_seq_cst);
}

Captures& Captures::instance() noexcept {
  alignas(Captures) static std::byte place[sizeof(Captures)];
  static auto* const captures = ::new (place) Captures;
  return *captures;
}

std::vector<OpenCapture>::iterator Captures::find(const Device& device, std::uint64_t id) noexcept {
  return std::find_if(open_.begin(), open_.end(),
                      [&](const OpenCapture& c) { return c.origin.device == &device && c.id == id; });
}

void Captures::forget(std::vector<OpenCapture>::iterator capture) noexcept {
  std::erase_if(members_, [&](const Member& m) {
    return m.backend == &capture->origin.device->backend() && m.capture == capture->id;
  });
  open_.erase(capture);
}

std::optional<std::uint64_t> Captures::opened(const OpenCapture& capture, bool blocking) {
  std::lock_guard lock(mutex_);
  // A stream is in one capture at a time.
  std::optional<std::uint64_t> forgotten;
  const auto earlier = std::find_if(open_.begin(), open_.end(),
                                    [&](const OpenCapture& c) { return !c.ending && c.origin == capture.origin; });
  if (earlier != open_.end()) {
    forgotten = earlier->id;
    forget(earlier);
  }
  open_.reserve(open_.size() + 1);
  const Device* const device = capture.origin.device;
  members_.push_back({&device->backend(), capture.id, device, blocking});
  open_.push_back(capture);
  count_open();
  return forgotten;
}

std::optional<OpenCapture> Captures::find_origin(const Origin& origin) const {
  const std::lock_guard lock(mutex_);
  return find_origin_locked(origin);
}

std::optional<OpenCapture> Captures::wait_for_origin(const Origin& origin) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return std::find(opening_.begin(), opening_.end(), origin) == opening_.end(); });
  return find_origin_locked(origin);
}

std::optional<OpenCapture> Captures::find_origin_locked(const Origin& origin) const {
  const OpenCapture* ending = nullptr;
  for (const OpenCapture& c : open_) {
    if (c.origin != origin) continue;
    if (!c.ending) return c;
    ending = &c;
  }
  return ending != nullptr ? std::optional(*ending) : std::nullopt;
}

bool Captures::claim(const OpenCapture& capture) noexcept {
  std::lock_guard lock(mutex_);
  const auto found = find(*capture.origin.device, capture.id);
  return found != open_.end() && !std::exchange(found->ending, true);
}

void Captures::closed(const Device& device, std::uint64_t id) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (const auto capture = find(device, id); capture != open_.end()) forget(capture);
    count_open();
    if (open_captures.load(std::memory_order_relaxed) != 0) return;
  }
  DisposalQueue::instance().captures_ended();
}

bool Captures::is_open(const Backend& backend, std::uint64_t id) const {
  std::lock_guard lock(mutex_);
  return std::any_of(open_.begin(), open_.end(),
                     [&](const OpenCapture& c) { return &c.origin.device->backend() == &backend && c.id == id; });
}

std::optional<OpenCapture> Captures::forbidding_unsafe_calls(const Backend& backend) const {
  const std::uint64_t me = this_thread();
  std::lock_guard lock(mutex_);
  for (const OpenCapture& c : open_) {
    if (&c.origin.device->backend() != &backend) continue;
    if (c.mode == CaptureMode::global || (c.mode == CaptureMode::thread_local_ && c.thread == me)) return c;
  }
  return std::nullopt;
}

void Captures::joined(const Backend& backend, std::uint64_t id, const Device& device, bool blocking) {
  {
    std::unique_lock lock(mutex_);
    const bool open = std::any_of(open_.begin(), open_.end(), [&](const OpenCapture& c) {
      return &c.origin.device->backend() == &backend && c.id == id;
    });
    if (!open) return;
    members_.push_back({&backend, id, &device, blocking});
    wait_for_device_wide_call(lock, device);
  }
  CaptureHold::wait_for_all();
}

void Captures::wait_for_device_wide_call(std::unique_lock<std::mutex>& lock, const Device& device) {
  changed_.wait(lock, [&] {
    return std::find(device_wide_calls_.begin(), device_wide_calls_.end(), &device) == device_wide_calls_.end();
  });
}

void Captures::begin_device_wide_call(const char* operation, const Device& device) {
  std::unique_lock lock(mutex_);
  // What is being begun on the device has come first: it ends as a capture that is open, or as none.
  changed_.wait(lock, [&] {
    return std::none_of(opening_.begin(), opening_.end(), [&](const Origin& o) { return o.device == &device; });
  });
  if (any_member_locked([&](const Member& m) { return m.device == &device; })) throw_device_captures(operation, device);
  device_wide_calls_.push_back(&device);
}

void Captures::end_device_wide_call(const Device& device) noexcept {
  std::lock_guard lock(mutex_);
  device_wide_calls_.erase(std::find(device_wide_calls_.begin(), device_wide_calls_.end(), &device));
  changed_.notify_all();
}

bool Captures::any_blocking(const Device& device) const {
  return any_member([&](const Member& m) { return m.blocking && m.device == &device; });
}

bool Captures::any_on(const Device& device) const {
  return any_member([&](const Member& m) { return m.device == &device; });
}

template <class Wanted>
bool Captures::any_member(Wanted&& wanted) const {
  std::lock_guard lock(mutex_);
  return any_member_locked(wanted);
}

template <class Wanted>
bool Captures::any_member_locked(Wanted&& wanted) const {
  return std::any_of(members_.begin(), members_.end(), wanted);
}

void throw_device_captures(const char* operation, const Device& device) {
  throw Error(Errc::capture_unsupported, operation, device.describe(),
              "a stream of this device is capturing, so there is nothing to wait for; the capture goes on");
}

void throw_unsafe_call(const char* operation, const std::string& object, const OpenCapture& capture) {
  throw Error(Errc::capture_unsupported, operation, object,
              "a capture in mode '" + std::string(to_string(capture.mode)) + "' is open on " +
                  capture.origin.device->describe() +
                  ", and the driver may have to synchronize for this call; make it before or after the capture, or capture "
                  "in mode 'relaxed'");
}

}  // namespace detail

namespace support {

DeviceWideCall::DeviceWideCall(const char* operation, const Device& device) : device_(device) {
  detail::Captures::instance().begin_device_wide_call(operation, device);
}

DeviceWideCall::~DeviceWideCall() { detail::Captures::instance().end_device_wide_call(device_); }

}  // namespace support
}  // namespace weir
