// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/hip/api.hpp"
#include "weir/unique_function.hpp"

/// What the backend keeps beside the runtime's own state.
namespace weir::hip {

/// What the backend has made of each device. Each is made when it is first needed, for the device that is current.
class Api::Helpers {
 public:
  explicit Helpers(int device_count) : of_devices_(static_cast<std::size_t>(device_count)) {}
  /// A blocking stream that stands in for the null stream in stream-ordered allocations and frees. A blocking stream and
  /// the null stream wait for each other's work, so the order of allocation, use and free is kept.
  Result null_stream(const Api& api, hipStream_t& stream);
  /// An event that is never recorded.
  Result unrecorded_event(const Api& api, hipEvent_t& event);

 private:
  struct OfDevice {
    hipStream_t null_stream = nullptr;
    hipEvent_t unrecorded_event = nullptr;
  };
  template <class Handle, class Make>
  Result get(const Api& api, Handle OfDevice::* which, Handle& handle, Make&& make);

  std::mutex mutex_;
  std::vector<OfDevice> of_devices_;
};

/// A background thread that destroys objects once they can be destroyed: streams when they are idle, executable graphs when
/// their last launch is over, pools when no capture forbids it. The thread starts with the first such object. It stops at
/// exit, before the runtime shuts down; objects that are left then go with the process.
class Retirement {
 public:
  static Retirement& instance();
  /// Calls `try_to_end()` again and again until it returns true, with the device current and in relaxed capture mode. If
  /// memory runs out or the process ends, the object leaks.
  void retire(const Api& api, int device, UniqueFunction<bool()>&& try_to_end) noexcept;

 private:
  struct Retired {
    const Api* api;
    int device;
    UniqueFunction<bool()> try_to_end;
  };
  Retirement() = default;
  void add(Retired&& retired);
  void run();
  static void stop_at_exit();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Retired> retired_;
  std::unique_ptr<std::thread> thread_;
  bool stopping_ = false;
  int process_ = 0;
};

}  // namespace weir::hip
