// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/errors.hpp"
#include "weir/plugin/support.hpp"

namespace weir::gpu {

template <class Api>
class RecordMemory;

/// Owns a stream's handle, for drivers whose events need the stream on which they were last recorded. The handle is
/// destroyed once neither the stream nor such an event needs it.
template <class Api>
class NativeStream {
 public:
  NativeStream(const GpuDevice<Api>& device, typename Api::StreamHandle handle) noexcept
      : device_(device), handle_(handle) {}
  ~NativeStream() {
    if (ends_with_events()) {
      device_.end([this] { return device_.api().StreamDestroy(handle_); }, "while a stream was destroyed");
    }
  }
  NativeStream(const NativeStream&) = delete;
  NativeStream& operator=(const NativeStream&) = delete;

  typename Api::StreamHandle handle() const noexcept { return handle_; }
  void end_with_events() noexcept { ends_with_events_.store(true, std::memory_order_release); }
  bool ends_with_events() const noexcept { return ends_with_events_.load(std::memory_order_acquire); }

  /// Called before a stream begins or joins a capture; the device must be current. During a capture HIP refuses waits for
  /// events that were recorded on the capturing stream earlier. So this function makes a helper stream wait for those events
  /// now and records an event there, for which later waits wait instead.
  void move_records() noexcept;

 private:
  friend class RecordMemory<Api>;
  template <class Record>
  void move(Record& record);

  const GpuDevice<Api>& device_;
  const typename Api::StreamHandle handle_;
  std::atomic<bool> ends_with_events_{false};
  std::mutex mutex_;  // guards the members below
  // List of the events last recorded on this stream outside captures that may be incomplete.
  RecordMemory<Api>* first_ = nullptr;
  std::shared_ptr<NativeStream> aside_;  // the helper stream
};

/// Stores where an event was last recorded, for drivers that do not keep this reliably.
template <class Api>
class RecordMemory {
 public:
  using Handle = typename Api::EventHandle;

  /// Replaces a record: an event on a helper stream, which never captures.
  struct Moved {
    std::shared_ptr<const NativeStream<Api>> on;
    OwnedEvent<Api> event;
  };
  struct EventRecord {
    std::shared_ptr<NativeStream<Api>> stream;    // null for the legacy default stream
    std::uint64_t capture = 0;                    // id of the capture of the record; 0 if it was outside captures
    std::vector<typename Api::NodeHandle> nodes;  // nodes of that capture on which the record depends
    Handle event = nullptr;                       // the native event of the record
    std::shared_ptr<const Moved> moved;           // if not null, waits use this event instead
    bool is_over = false;                         // the record is complete, so no wait is needed
  };

  RecordMemory() = default;
  RecordMemory(const RecordMemory&) = delete;
  RecordMemory& operator=(const RecordMemory&) = delete;
  ~RecordMemory() { set({}); }

  void set(EventRecord&& record) noexcept {
    const std::lock_guard setting(setting_);
    exchange(record);
  }
  /// Calls `call`, which records the event outside captures, under a lock that excludes records by other threads. Costs
  /// little more than the call itself if the previous record was on the same stream.
  template <class F>
  typename Api::Result record(const std::shared_ptr<NativeStream<Api>>& stream, Handle event, F&& call) {
    const std::lock_guard setting(setting_);
    const auto result = call();
    if (result != Api::success) return result;
    {
      const std::lock_guard lock(mutex_);
      const bool is_plain = record_.capture == 0 && record_.moved == nullptr && !record_.is_over;
      if (record_.stream == stream && record_.event == event && is_plain) [[likely]]
        return result;
    }
    EventRecord made{stream, 0, {}, event, nullptr, false};
    exchange(made);
    return result;
  }
  /// The id of the capture in which the event was recorded, or 0.
  std::uint64_t capture() const noexcept {
    const std::lock_guard lock(mutex_);
    return record_.capture;
  }
  EventRecord get() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }
  std::shared_ptr<const NativeStream<Api>> stream() const noexcept {
    const std::lock_guard lock(mutex_);
    return record_.stream;
  }
  /// What a wait for the event must wait for: `moved` if not null; nothing if `is_over`; otherwise the native event itself.
  struct Awaited {
    std::shared_ptr<const Moved> moved;
    bool is_over = false;
    std::uint64_t number = 0;  // number of the record
    bool operator==(const Awaited&) const = default;
  };
  Awaited awaited() const noexcept {
    const std::lock_guard lock(mutex_);
    return {record_.moved, record_.is_over, number_};
  }

 private:
  friend class NativeStream<Api>;
  /// Stores `record` as the last record, and sets `record` to the previous one.
  void exchange(EventRecord& record) noexcept {
    {
      const std::lock_guard lock(mutex_);
      std::swap(record_, record);
      ++number_;
    }
    if (const auto former = std::exchange(listed_by_, nullptr)) {
      const std::lock_guard lock(former->mutex_);
      unlist();
    }
    if (record_.stream == nullptr || record_.capture != 0) return;
    listed_by_ = record_.stream;
    const std::lock_guard lock(listed_by_->mutex_);
    next_ = std::exchange(listed_by_->first_, this);
    before_ = &listed_by_->first_;
    if (next_ != nullptr) next_->before_ = &next_;
  }
  /// Removes this from its list. The caller must hold the lock of the stream that owns the list.
  void unlist() noexcept {
    if (before_ == nullptr) return;
    *before_ = next_;
    if (next_ != nullptr) next_->before_ = before_;
    before_ = nullptr;
  }

  std::mutex setting_;  // held during the driver call that records the event
  mutable std::mutex mutex_;
  EventRecord record_;
  std::uint64_t number_ = 0;
  std::shared_ptr<NativeStream<Api>> listed_by_;  // the stream whose list contains this; guarded by `setting_`
  RecordMemory* next_ = nullptr;                  // next in that stream's list; guarded by the stream's lock
  RecordMemory** before_ = nullptr;               // the pointer in the list that points to this; null if this is in no list
};

template <class Api>
void NativeStream<Api>::move_records() noexcept {
  const CaptureModeScope<Api> relaxed(device_.api());
  const std::lock_guard lock(mutex_);
  for (RecordMemory<Api>*next = first_, *memory = next; memory != nullptr; memory = next) {
    next = memory->next_;
    const std::lock_guard of_event(memory->mutex_);
    if (memory->record_.stream.get() == this && memory->record_.capture == 0) {
      try {
        move(memory->record_);
      } catch (const std::exception& e) {
        support::log(support::LogLevel::error,
                     "events recorded on a stream that now captures cannot be waited for during the capture: ", e.what());
        continue;
      }
    }
    memory->unlist();
  }
}

template <class Api>
template <class Record>
void NativeStream<Api>::move(Record& record) {
  const Api& api = device_.api();
  const char* const operation = "Stream::begin_capture";
  record.is_over = !Api::is_pending(api.query_event(record.event));
  if (record.is_over) return;
  if (aside_ == nullptr) {
    typename Api::StreamHandle made = nullptr;
    check(api, api.StreamCreateWithPriority(&made, Api::stream_non_blocking, api.usual_priority()), operation, device_);
    aside_ = make_owner([&] { return std::make_shared<NativeStream>(device_, made); },
                        [&] { log_failure(api, api.StreamDestroy(made), "while a stream was destroyed", "weir"); });
    aside_->end_with_events();
  }
  typename Api::EventHandle event = nullptr;
  check(api, api.EventCreate(&event, api.event_flags({})), operation, device_);
  using Moved = typename RecordMemory<Api>::Moved;
  const auto moved = make_owner(
      [&] {
        return std::shared_ptr<const Moved>(new Moved{aside_, {api, event}});
      },
      [&] { log_failure(api, api.EventDestroy(event), "while an event was destroyed", "weir"); });
  check(api, api.StreamWaitEvent(aside_->handle(), record.event, 0), operation, device_);
  check(api, api.EventRecord(event, aside_->handle()), operation, device_);
  record.moved = moved;
}

/// Replaces RecordMemory for drivers that keep this information reliably.
struct NoRecordMemory {};

}  // namespace weir::gpu
