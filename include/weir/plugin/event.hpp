// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "weir/event.hpp"

/// The interface that a backend implements for its events.
namespace weir {

/// The base class of each backend's events; every `Event` object is an `EventImpl`. The core has checked the arguments of a
/// `do_` function.
class WEIR_API EventImpl : public Event {
 public:
  virtual bool do_is_complete() const = 0;
  virtual void do_synchronize() const = 0;
  /// The default implementation polls `do_is_complete`.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) const;
  /// Like `do_is_complete`, but must not invalidate any capture.
  virtual bool do_look() const { return do_is_complete(); }
  /// The core has checked that both events belong to this device, have timing and were recorded. Throws `not_ready` if one
  /// of them is not complete.
  virtual double do_elapsed_ms_since(const Event& start) const = 0;
  virtual InterprocessHandle do_interprocess_handle() const;

  /// Whether the last record was in a capture.
  bool is_captured() const noexcept { return record_state_.load(std::memory_order_acquire) >= captured_base; }

 protected:
  EventImpl(Device& device, const EventOptions& options, void* handle) noexcept : Event(device, options, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }

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
  void set_native_handle(void* handle) noexcept { handle_.store(handle, std::memory_order_release); }
};

}  // namespace weir
