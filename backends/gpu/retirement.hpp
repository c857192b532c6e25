// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "weir/unique_function.hpp"

namespace weir::gpu {

/// A background thread that destroys what cannot be destroyed yet: memory pools when the frees of their memory are over, and
/// on HIP streams when they are idle and executable graphs when their last launch is over. It asks and never waits for the
/// driver, so that what takes long holds up nothing else. The thread starts with the first such object. It stops at exit,
/// before the driver shuts down; objects that are left then go with the process.
///
/// Modules have a thread of their own, since a driver may wait for all work of the device before it unloads one.
class Retirement {
 public:
  static Retirement& instance();
  static Retirement& of_modules();
  /// Calls `try_to_end()` again and again until it returns true. If the process ends, the object leaks; if memory runs out,
  /// too, and the result is false.
  bool retire(UniqueFunction<bool()>&& try_to_end) noexcept;

 private:
  using Retired = UniqueFunction<bool()>;

  Retirement() = default;
  void add(Retired&& retired);
  void run();
  void stop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Retired> retired_;
  std::unique_ptr<std::thread> thread_;
  bool stopping_ = false, has_stopped_ = false;
  int process_ = 0;
};

}  // namespace weir::gpu
