// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "backends/host/engine/queue.hpp"
#include "backends/host/engine/scheduler.hpp"

namespace weir::host {

/// The state that all queues of one device share.
class Engine {
 public:
  explicit Engine(Device& device) : device_(device), default_queue_(make_ptr<Queue>(*this, Queue::Role::legacy, 0)) {}

  Device& device() const noexcept { return device_; }
  HostThread& host_thread() noexcept { return host_thread_; }
  Queue& default_queue() const noexcept { return *default_queue_; }
  /// A mutex to hold while enqueuing work that is ordered against the legacy default stream.
  std::mutex& default_stream_mutex() noexcept { return default_stream_mutex_; }

 private:
  Device& device_;
  HostThread host_thread_;
  std::mutex default_stream_mutex_;
  const Ptr<Queue> default_queue_;
};

}  // namespace weir::host
