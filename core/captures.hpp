// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/backend.hpp"
#include "weir/capture.hpp"

/// The captures that were begun through Weir and are open, so that what would kill one can be refused before the driver.
namespace weir::detail {

/// The stream that begins a capture, whatever object stands for it.
struct Origin {
  const Device* device = nullptr;
  void* handle = nullptr;           ///< native
  std::uint64_t thread_stream = 0;  ///< its thread, for a per-thread default stream
  bool operator==(const Origin&) const = default;
};

struct OpenCapture {
  Origin origin;
  std::uint64_t id = 0;
  std::uint64_t thread = 0;    ///< the thread that began it
  CaptureMode mode = CaptureMode::thread_local_;
  bool ending = false;  ///< somebody ends it, and nobody else may
};

class Captures {
 public:
  static Captures& instance() noexcept;

  /// Notes the capture that a `CaptureOpening` announced. `blocking`: as of `joined`. Returns the id of the capture that the
  /// stream began before where nobody has ended it by Weir: foreign code has, then, and it is forgotten.
  std::optional<std::uint64_t> opened(const OpenCapture& capture, bool blocking);
  /// The capture that a stream began; one that is ending only where there is no other.
  std::optional<OpenCapture> find_origin(const Origin& origin) const;
  /// Likewise for a stream of which the driver says that it captures: one that it begins just now is waited for.
  std::optional<OpenCapture> wait_for_origin(const Origin& origin);
  /// Marks a capture as ending. True for one of the threads that want to end it; that one ends it, and calls `closed` then.
  bool claim(const OpenCapture& capture) noexcept;
  /// Ends what was put off while captures were open, if this was the last.
  void closed(const Device& device, std::uint64_t id) noexcept;
  bool is_open(const Backend& backend, std::uint64_t id) const;
  /// A capture that forbids the calling thread to make unsafe calls of that backend.
  std::optional<OpenCapture> forbidding_unsafe_calls(const Backend& backend) const;
  /// Notes that a stream was drawn into a capture. `blocking`: whether the legacy default stream is ordered against it.
  void joined(const Backend& backend, std::uint64_t id, const Device& device, bool blocking);
  /// A capture with a blocking stream of `device`.
  bool any_blocking(const Device& device) const;
  /// A capture with a stream of `device`.
  bool any_on(const Device& device) const;
  /// See `support::DeviceWideCall`.
  void begin_device_wide_call(const char* operation, const Device& device);
  void end_device_wide_call(const Device& device) noexcept;

 private:
  friend class CaptureOpening;
  Captures() = default;
  void count_open() noexcept;
  std::vector<OpenCapture>::iterator find(const Device& device, std::uint64_t id) noexcept;
  std::optional<OpenCapture> find_origin_locked(const Origin& origin) const;
  void forget(std::vector<OpenCapture>::iterator capture) noexcept;
  template <class Wanted>
  bool any_member(Wanted&& wanted) const;
  template <class Wanted>
  bool any_member_locked(Wanted&& wanted) const;
  void wait_for_device_wide_call(std::unique_lock<std::mutex>& lock, const Device& device);

  /// A stream that is in a capture.
  struct Member {
    const Backend* backend;
    std::uint64_t capture;
    const Device* device;
    bool blocking;
  };
  mutable std::mutex mutex_;
  std::vector<OpenCapture> open_;
  std::vector<Member> members_;
  std::vector<Origin> opening_;
  std::vector<const Device*> device_wide_calls_;
  std::condition_variable changed_;  // a capture has been begun, or a call is over
};

/// Held while a stream begins to capture. Counts as an open capture from before the driver is asked, and waits for the calls
/// that did not see it coming.
class CaptureOpening {
 public:
  explicit CaptureOpening(const Origin& origin);
  ~CaptureOpening();
  CaptureOpening(const CaptureOpening&) = delete;
  CaptureOpening& operator=(const CaptureOpening&) = delete;

 private:
  const Origin origin_;
};

[[noreturn]] void throw_device_captures(const char* operation, const Device& device);
[[noreturn]] void throw_unsafe_call(const char* operation, const std::string& object, const OpenCapture& capture);

/// Throws `capture_unsupported` where an open capture forbids the calling thread to make unsafe calls of the object's device.
template <class T>
void check_unsafe_call(const char* operation, const Device& device, const T& object) {
  if (open_captures.load(std::memory_order_acquire) == 0) [[likely]] return;
  if (const auto capture = Captures::instance().forbidding_unsafe_calls(device.backend())) {
    throw_unsafe_call(operation, object.describe(), *capture);
  }
}

}  // namespace weir::detail
