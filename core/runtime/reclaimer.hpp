// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "weir/ptr.hpp"
#include "weir/unique_function.hpp"

namespace weir {

/// A background thread that ends what cannot end where its last owner went:
///
/// - objects dropped in host functions, where no driver may be called;
/// - what work still uses: memory pools until the frees of their memory are over; on HIP streams until they are idle, and
///   executable graphs until their last launch is over. It asks the driver again and again, and never waits for it.
///
/// The thread starts with the first such object. It stops at exit, before drivers shut down; what is left goes with the
/// process.
class Reclaimer {
 public:
  static Reclaimer& instance() noexcept;
  /// Modules have a thread of their own, since a driver may wait for all work of the device before it unloads one.
  static Reclaimer& of_modules() noexcept;
  /// Stops both threads at exit, before what was registered there so far. Called again behind each driver's opening, since a
  /// thread may be there before the driver.
  static void stop_at_exit() noexcept;

  /// Ends an object that has no owner. Allocates nothing.
  void dispose(RefCounted* object) noexcept;
  /// Calls `try_to_end()` until it returns true. False, and what it would end leaks, without memory.
  bool retry(UniqueFunction<bool()>&& try_to_end) noexcept;

 private:
  // In a list, so that nothing is allocated where a failure could not be told.
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
