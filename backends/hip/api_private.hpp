// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/hip/api.hpp"

/// What the backend keeps beside the runtime's own state.
namespace weir::hip {

/// A blocking stream on each device. Work on it and work on the null stream wait for each other, so that memory which is
/// allocated here is there for the null stream's later work, and is freed after its earlier work.
class Api::NullStreams {
 public:
  explicit NullStreams(int device_count) : streams_(static_cast<std::size_t>(device_count)) {}
  Result get(const Api& api, hipStream_t& stream);

 private:
  std::mutex mutex_;
  std::vector<hipStream_t> streams_;
};

/// Ends streams and executable graphs once they are idle, on a thread of its own, which exists from the first time that one is
/// not. At the process's end the thread stops before the runtime shuts down; what is then left goes with the process.
class Retirement {
 public:
  static Retirement& instance();
  void retire(const Api& api, hipStream_t stream);
  void retire(const Api& api, hipGraphExec_t exec, hipEvent_t last_launch);

 private:
  struct Retired {
    const Api* api;
    int device;
    hipStream_t stream;        // or
    hipGraphExec_t exec;       // with
    hipEvent_t last_launch;
  };
  Retirement() = default;
  void add(const Retired& retired);
  void run();
  static bool try_to_end(const Retired& retired);
  static void stop_at_exit();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Retired> retired_;
  std::unique_ptr<std::thread> thread_;
  bool stopping_ = false;
  int process_ = 0;
};

/// The event behind the last launch of each executable graph.
class Api::Executables {
 public:
  void launched(const Api& api, hipGraphExec_t exec, hipStream_t stream);
  /// Null if it was never launched.
  hipEvent_t forget(hipGraphExec_t exec);

 private:
  std::mutex mutex_;
  std::unordered_map<hipGraphExec_t, hipEvent_t> last_launches_;
};

}  // namespace weir::hip
