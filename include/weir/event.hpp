// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"
#include "weir/ref.hpp"
#include "weir/timeout.hpp"

/// Events. An event is a point in the order of a stream; streams and the host can wait for it.
namespace weir {

/// The options of an event.
struct EventOptions {
  bool timing = false;         ///< record the time, for `elapsed_since`
  bool blocking_sync = false;  ///< `synchronize` puts the thread to sleep instead of polling
  bool interprocess = false;   ///< can be sent to another process; excludes `timing`
  friend bool operator==(const EventOptions&, const EventOptions&) = default;
};

/// A point in the order of a stream (cudaEvent_t). Made by `Device::create_event` or `Stream::record`. Weir keeps the
/// vendor's events for reuse, so creating an event rarely calls the driver.
///
/// An event that was never recorded is complete, and a wait for it does nothing. Recording an event again moves it to the
/// new point; waits that were enqueued before still wait for the old point. Any thread may use an event. If two threads
/// record one event concurrently, either record may win.
class WEIR_API Event : public RefCounted {
 public:
  /// The device of the streams that can record the event.
  Device& device() const noexcept { return device_; }
  /// The event's options.
  const EventOptions& options() const noexcept { return options_; }
  /// The vendor's event (cudaEvent_t, hipEvent_t), for comparing and logging.
  void* native_handle() const noexcept { return handle_.load(std::memory_order_acquire); }
  /// Returns the vendor's event for code that will record it through the vendor's API. From now on Weir assumes that other
  /// code may record the event at any time. This object still owns the handle.
  void* share_native_handle() const noexcept {
    flags_.fetch_or(shared, std::memory_order_relaxed);
    return handle_.load(std::memory_order_acquire);
  }
  /// Whether the event was ever recorded through Weir.
  [[nodiscard]] bool is_recorded() const noexcept { return record_state_.load(std::memory_order_acquire) != unrecorded; }

  /// Whether all work before the last record is done. Throws the device's error if the work failed; `captured_event` if the
  /// last record was in a capture; `capture_unsupported` if an open capture forbids the query. (cudaEventQuery)
  [[nodiscard]] bool is_complete() const;
  /// Blocks the calling thread until the event is complete. Throws like `is_complete`. (cudaEventSynchronize)
  void synchronize() const;
  /// Like `synchronize`, but returns false if the event is not complete after `timeout`. A timeout of zero or less queries
  /// once. If another thread records the event again meanwhile, this may wait for the new record.
  [[nodiscard]] bool synchronize_for(Timeout timeout) const;
  /// The time in milliseconds from the record of `start` to the record of this event, measured by the device's clock with a
  /// resolution of about half a microsecond. Checks in this order, and throws: `wrong_device`, `timing_disabled`,
  /// `not_recorded`, `captured_event`, `not_ready`. (cudaEventElapsedTime)
  [[nodiscard]] std::chrono::duration<double, std::milli> elapsed_since(EventRef start) const;
  /// Returns a handle that lets another process open this event. The event must have been created with
  /// `EventOptions::interprocess`. (cudaIpcGetEventHandle)
  [[nodiscard]] InterprocessHandle interprocess_handle() const;

  /// Names the event for tools and descriptions, until it is destroyed. Empty removes the name.
  void set_name(std::string_view name);
  /// The event's name, or empty.
  [[nodiscard]] std::string name() const;
  /// Describes the event: "cuda:0 event 0x7f…", or with its name "cuda:0 event 'ready' 0x7f…".
  [[nodiscard]] std::string describe() const;

 private:
  friend class Stream;
  friend class detail::Journal;
  friend class EventImpl;
  // Values of `record_state_`, which describes the last record. A record in a capture is stored as `captured_base` + 2 * the
  // capture's id, + 1 if code other than Weir began the capture.
  static constexpr std::uint64_t unrecorded = 0, recorded = 1, captured_base = 2;
  static constexpr std::uint8_t shared = 1, named = 2;

  Event(Device& device, const EventOptions& options, void* handle) noexcept
      : device_(device), handle_(handle), options_(options) {}
  void check_host_access(const char* operation) const;
  void forget_name() noexcept;

  Device& device_;
  std::atomic<void*> handle_;
  EventOptions options_;
  std::atomic<std::uint64_t> record_state_{unrecorded};
  mutable std::atomic<std::uint8_t> flags_{0};
};

}  // namespace weir
