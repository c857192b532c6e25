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

/// Events: points in the order of a stream. Streams and the host can wait for them.
namespace weir {

/// The options of an event.
struct EventOptions {
  bool timing = false;         ///< record the time, for `elapsed_since`
  bool blocking_sync = false;  ///< `synchronize` sleeps instead of spinning
  bool interprocess = false;   ///< can be sent to another process; excludes `timing`
  friend bool operator==(const EventOptions&, const EventOptions&) = default;
};

/// A point in the order of a stream. Made by `Device::create_event` or `Stream::record`. Events are pooled, so they are
/// cheap.
///
/// An event that was never recorded is complete, and a wait for it does nothing. A new record moves the event; waits
/// enqueued before still wait for the previous point. Any thread may use an event. If two threads record one event
/// concurrently, either record may win.
class WEIR_API Event : public RefCounted {
 public:
  /// The device of the streams that can record the event.
  Device& device() const noexcept { return device_; }
  /// The event's options.
  const EventOptions& options() const noexcept { return options_; }
  /// The vendor's event (cudaEvent_t, hipEvent_t), for comparing and logging.
  void* native_handle() const noexcept { return handle_.load(std::memory_order_acquire); }
  /// The same, for other code, which may record the event from now on without calling Weir. This object still owns it.
  void* share_native_handle() const noexcept {
    flags_.fetch_or(shared, std::memory_order_relaxed);
    return handle_.load(std::memory_order_acquire);
  }
  /// Whether it was ever recorded through Weir.
  [[nodiscard]] bool is_recorded() const noexcept { return record_state_.load(std::memory_order_acquire) != unrecorded; }

  /// Whether all work before the record is done. Throws the device's error if the work failed; `captured_event` if the last
  /// record was in a capture; `capture_unsupported` if an open capture forbids the query.
  [[nodiscard]] bool is_complete() const;
  /// Blocks the calling thread until the event is complete. Throws like `is_complete`.
  void synchronize() const;
  /// Like `synchronize`, but returns false if the event is not complete after `timeout`. Zero or less: queries once. If the
  /// event is recorded again meanwhile, this may wait for the new record.
  [[nodiscard]] bool synchronize_for(Timeout timeout) const;
  /// Milliseconds from the record of `start` to the record of this event, by the device's clock (resolution about half a
  /// microsecond). Throws `wrong_device`, `timing_disabled`, `not_recorded`, `captured_event` or `not_ready`, in this order.
  [[nodiscard]] std::chrono::duration<double, std::milli> elapsed_since(EventRef start) const;
  /// Returns a handle for another process to open this event (cudaIpcGetEventHandle). Needs `EventOptions::interprocess`.
  [[nodiscard]] InterprocessHandle interprocess_handle() const;

  /// Names the event for tools and descriptions, until it is destroyed. Empty removes the name.
  void set_name(std::string_view name);
  /// Its name, or empty.
  [[nodiscard]] std::string name() const;
  /// "cuda:0 event 0x7f…"; with its name "cuda:0 event 'ready' 0x7f…"
  [[nodiscard]] std::string describe() const;

 private:
  friend class Stream;
  friend class detail::Journal;
  friend class EventImpl;
  // The last record: none, on a stream, or in a capture, stored as `captured_base` + 2 * its id, + 1 if external code began
  // it.
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
