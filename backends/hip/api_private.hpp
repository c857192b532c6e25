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

/// One blocking stream per device that stands in for the null stream in stream-ordered allocations and frees. A blocking
/// stream and the null stream wait for each other's work, so the order of allocation, use and free is kept.
class Api::NullStreams {
 public:
  explicit NullStreams(int device_count) : streams_(static_cast<std::size_t>(device_count)) {}
  Result get(const Api& api, hipStream_t& stream);

 private:
  std::mutex mutex_;
  std::vector<hipStream_t> streams_;
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
