// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "weir/ptr.hpp"
#include "weir/unique_function.hpp"

namespace weir {

/// A background thread that destroys objects that cannot be destroyed where their last owner released them:
///
/// - objects dropped in host functions, where the driver may not be called;
/// - objects that work still uses: memory pools until the frees of their memory are over; on HIP streams until they are
///   idle, and executable graphs until their last launch is over. It polls the driver and never waits for it.
///
/// The thread starts with the first such object. It stops at exit, before drivers shut down; remaining objects are lost with
/// the process.
class Reclaimer {
 public:
  static Reclaimer& instance() noexcept;
  /// Modules have their own thread, because a driver may wait for all work of the device before it unloads one.
  static Reclaimer& of_modules() noexcept;
  /// Stops both threads at exit, before exit handlers that were registered earlier. Call it again after opening each driver,
  /// because a thread may be older than the driver.
  static void stop_at_exit() noexcept;

  /// Destroys an object without owners. Allocates nothing.
  void dispose(RefCounted* object) noexcept;
  /// Calls `try_to_end()` until it returns true. Out of memory it returns false and the object leaks.
  bool retry(UniqueFunction<bool()>&& try_to_end) noexcept;

 private:
  // A node of a list, so that nothing is allocated where a failure could not be reported.
  struct Retry {
    UniqueFunction<bool()> try_to_end;
    Retry* next = nullptr;
  };

  bool start();
  void thread_main() noexcept;
  void stop();

  std::mutex mutex_;
  std::condition_variable changed_;
  RefCounted* first_ = nullptr;
  RefCounted** end_ = &first_;
  Retry* retries_ = nullptr;
  std::unique_ptr<std::thread> thread_;
  bool stopping_ = false, has_stopped_ = false;
  int process_ = 0;
};

}  // namespace weir
