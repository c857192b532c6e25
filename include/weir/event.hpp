// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/memory.hpp"
#include "weir/ptr.hpp"

/// Events: points in a stream's order that streams and hosts can wait for.
namespace weir {

struct EventOptions {
  bool timing = false;         ///< keep the time of the record, for `elapsed_since`
  bool blocking_sync = false;  ///< `synchronize` puts the host thread to sleep rather than spin
  bool interprocess = false;   ///< can be sent to another process; excludes `timing`
  friend bool operator==(const EventOptions&, const EventOptions&) = default;
};

/// A point in a stream's order. Made by `Device::create_event` or `Stream::record`; pooled, so making one is cheap.
///
/// An event that was never recorded is complete, and waiting for it does nothing. Recording it again moves it: waits that
/// were enqueued before keep the point they saw. Any thread may use an event; recording one event from two threads at once
/// is allowed, and which record wins is then open.
class WEIR_API Event : public RefCounted {
 public:
  Device& device() const noexcept { return device_; }
  const EventOptions& options() const noexcept { return options_; }
  /// The vendor's event (cudaEvent_t, hipEvent_t). Stays owned by this object. From this call on the event counts as shared
  /// with foreign code, which may record it without Weir's knowledge.
  void* native_handle() const noexcept {
    shared_.store(true, std::memory_order_relaxed);
    return handle();
  }
  /// Whether it was ever recorded (through Weir).
  bool is_recorded() const noexcept { return record_state_.load(std::memory_order_acquire) != unrecorded; }

  /// Whether all work before the record is done. False means not ready and nothing else.
  /// Throws the device's error if the work failed; `captured_event` if it was last recorded in a capture;
  /// `capture_unsupported` where an open capture forbids the query.
  bool is_complete() const;
  /// Blocks the calling thread until the event is complete. Throws like `is_complete`.
  void synchronize() const;
  /// Milliseconds between the record of `start` and the record of this event, on the device's clock (resolution about
  /// half a microsecond). Throws `wrong_device`, `timing_disabled`, `not_recorded` or `not_ready`, in this order.
  std::chrono::duration<double, std::milli> elapsed_since(const Event& start) const;
  /// A handle by which another process opens this event (cudaIpcGetEventHandle). Needs `EventOptions::interprocess`.
  InterprocessHandle interprocess_handle() const;

  /// "cuda:0 event 0x7f…"
  std::string describe() const;

 protected:
  Event(Device& device, const EventOptions& options, void* handle) noexcept
      : device_(device), handle_(handle), options_(options) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }

  virtual bool do_is_complete() const = 0;
  virtual void do_synchronize() const = 0;
  /// Both events are recorded, have timing, are of this device; throws `not_ready` if one of them is not complete.
  virtual double do_elapsed_ms_since(const Event& start) const = 0;
  virtual InterprocessHandle do_interprocess_handle() const;

  void* handle() const noexcept { return handle_.load(std::memory_order_acquire); }
  /// Whether foreign code was given the handle, so that `is_recorded` may not know all.
  bool is_shared() const noexcept { return shared_.load(std::memory_order_relaxed); }
  /// Whether the last record was in a capture.
  bool is_captured() const noexcept { return record_state_.load(std::memory_order_acquire) >= captured_base; }
  /// For backends whose events come from a pool: as good as new.
  void reset_state() noexcept {
    record_state_.store(unrecorded, std::memory_order_relaxed);
    shared_.store(false, std::memory_order_relaxed);
  }
  void set_native_handle(void* handle) noexcept { handle_.store(handle, std::memory_order_release); }

 private:
  friend class Stream;
  // Where it was last recorded: not at all, on a stream, or in the capture with id `record_state_ - captured_base`.
  static constexpr std::uint64_t unrecorded = 0, recorded = 1, captured_base = 2;
  void check_host_access(const char* operation) const;

  Device& device_;
  std::atomic<void*> handle_;
  EventOptions options_;
  std::atomic<std::uint64_t> record_state_{unrecorded};
  mutable std::atomic<bool> shared_{false};
};

}  // namespace weir
