// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "weir/event.hpp"

/// The interface that a backend implements for its events.
namespace weir {

/// The base class of each backend's events; every `Event` object is an `EventImpl`. The core has checked the arguments of a
/// `do_` function, that the last record was not in a capture, and that no capture begun through Weir forbids the call. Any
/// thread may call any function at any time, also while another thread records the event. An event that was never recorded
/// is complete. Errors are those of `DeviceImpl`.
class WEIR_API EventImpl : public Event {
 public:
  /// Whether all work before the last record is done. Throws the error of that work, if the driver reports it here.
  /// (cudaEventQuery)
  virtual bool do_is_complete() const = 0;
  /// Blocks until the event is complete; with `EventOptions::blocking_sync`, without polling. Throws like `do_is_complete`.
  /// (cudaEventSynchronize)
  virtual void do_synchronize() const = 0;
  /// Like `do_synchronize`, but returns false if the event is not complete at `deadline`. Must query at least once. The
  /// default implementation polls `do_is_complete`.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) const;
  /// Like `do_is_complete`, but must not invalidate any capture, and may be called during any. The default implementation
  /// calls `do_is_complete`.
  virtual bool do_look() const { return do_is_complete(); }
  /// The time in milliseconds from the record of `start` to the record of this event; negative if `start` was recorded
  /// later. The core has checked that both events belong to this device, have timing and were recorded. May be called while
  /// a capture is open, and must invalidate none. Throws `not_ready` if one of the events is not complete.
  /// (cudaEventElapsedTime)
  virtual double do_elapsed_ms_since(const Event& start) const = 0;
  /// Called only for an event with `EventOptions::interprocess`. (cudaIpcGetEventHandle)
  virtual InterprocessHandle do_interprocess_handle() const;

  /// Whether the last record was in a capture.
  bool is_captured() const noexcept { return record_state_.load(std::memory_order_acquire) >= captured_base; }

 protected:
  /// `handle`: the vendor's event, which this object owns.
  EventImpl(Device& device, const EventOptions& options, void* handle) noexcept : Event(device, options, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }

  /// The vendor's event.
  void* handle() const noexcept { return handle_.load(std::memory_order_acquire); }
  /// Whether other code has obtained the handle (`Event::share_native_handle`) and may have recorded the event.
  bool is_shared() const noexcept { return (flags_.load(std::memory_order_relaxed) & shared) != 0; }
  /// Resets an event without owners, before it is destroyed or reused.
  void reset_state() noexcept {
    record_state_.store(unrecorded, std::memory_order_relaxed);
    const std::uint8_t flags = flags_.load(std::memory_order_relaxed);
    if (flags == 0) [[likely]]
      return;
    if ((flags & named) != 0) forget_name();
    flags_.store(0, std::memory_order_relaxed);
  }
  /// Replaces the vendor's event. Any thread.
  void set_native_handle(void* handle) noexcept { handle_.store(handle, std::memory_order_release); }
};

}  // namespace weir
