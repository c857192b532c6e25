// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/gpu/errors.hpp"

namespace weir::gpu {

template <class Api>
class GpuDevice;

/// A stream's handle, for drivers whose events need the stream on which they were last recorded. It is destroyed when
/// neither the stream nor such an event needs it.
template <class Api>
class NativeStream {
 public:
  NativeStream(const GpuDevice<Api>& device, typename Api::StreamHandle handle) noexcept
      : device_(device), handle_(handle) {}
  ~NativeStream() {
    if (ends_with_events_.load(std::memory_order_acquire)) {
      device_.end([this] { return device_.api().StreamDestroy(handle_); }, "while a stream was destroyed");
    }
  }
  NativeStream(const NativeStream&) = delete;
  NativeStream& operator=(const NativeStream&) = delete;

  void end_with_events() noexcept { ends_with_events_.store(true, std::memory_order_release); }

 private:
  const GpuDevice<Api>& device_;
  const typename Api::StreamHandle handle_;
  std::atomic<bool> ends_with_events_{false};
};

/// What an event was last recorded on, for drivers that do not keep this well.
template <class Api>
class RecordMemory {
 public:
  struct Record {
    std::shared_ptr<const NativeStream<Api>> stream;  // null if Weir does not destroy it
    std::uint64_t capture = 0;                        // or 0
    std::vector<typename Api::NodeHandle> nodes;      // of that capture, for which the event stands
  };

  void set(Record&& record) noexcept {
    const std::lock_guard lock(mutex_);
    std::swap(record_, record);  // the former one is destroyed outside the lock
  }
  /// Of a record outside captures; nearly nothing where the one before was on the same stream.
  void set_stream(const std::shared_ptr<const NativeStream<Api>>& stream) {
    {
      const std::lock_guard lock(mutex_);
      if (record_.stream == stream && record_.capture == 0) [[likely]] return;
    }
    set({stream, 0, {}});
  }
  /// In which it was recorded, or 0.
  std::uint64_t capture() const noexcept {
    const std::lock_guard lock(mutex_);
    return record_.capture;
  }
  Record get() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }
  std::shared_ptr<const NativeStream<Api>> stream() const noexcept {
    const std::lock_guard lock(mutex_);
    return record_.stream;
  }

 private:
  mutable std::mutex mutex_;
  Record record_;
};

/// For drivers that keep this well.
struct NoRecordMemory {};

}  // namespace weir::gpu
