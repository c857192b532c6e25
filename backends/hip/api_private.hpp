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

/// Ends, on a thread of its own, what cannot end yet: streams that are not idle, executable graphs whose launches are not over,
/// pools whose end a capture forbids. The thread exists from the first of them on. At the process's end it stops before the
/// runtime shuts down; what is then left goes with the process.
class Retirement {
 public:
  static Retirement& instance();
  /// Calls `try_to_end()` until it is true, now and then, with the device current, in relaxed capture mode. Where there is no
  /// memory for that, or the process ends, what it owns stays for ever.
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
