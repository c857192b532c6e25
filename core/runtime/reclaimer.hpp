// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/background_thread.hpp"
#include "weir/ptr.hpp"
#include "weir/unique_function.hpp"

/// `Reclaimer`: deferred destruction on a background thread.
namespace weir {

/// A background thread that destroys objects which cannot be destroyed at once, on the thread that released the last owner:
///
/// - objects released in host functions, which must not call the driver;
/// - objects that pending work still uses: memory pools until their memory is freed; on HIP also streams until they are
///   idle, and executable graphs until their last launch is done. The thread polls the driver; it does not block in it.
///
/// The thread starts with the first such object, and stops at exit, before drivers shut down. Objects that are left then are
/// not destroyed.
class Reclaimer {
 public:
  static Reclaimer& instance() noexcept;
  /// A second reclaimer with its own thread, for modules: a driver may block until all work of the device is done before it
  /// unloads a module.
  static Reclaimer& of_modules() noexcept;
  /// Registers an exit handler that stops both threads. Handlers that were registered later run first, so call this again
  /// after each driver was opened: the threads must stop before that driver shuts down.
  static void stop_at_exit() noexcept;

  /// Destroys, on the thread, an object that has lost its last owner. Allocates no memory, so it cannot fail.
  void dispose(RefCounted* object) noexcept;
  /// Calls `try_to_end()` repeatedly, on the thread, until it returns true. If memory is exhausted, returns false, and the
  /// object leaks.
  bool retry(UniqueFunction<bool()>&& try_to_end) noexcept;

 private:
  // An element of a linked list, so that the thread itself never allocates memory.
  struct Retry {
    UniqueFunction<bool()> try_to_end;
    Retry* next = nullptr;
  };

  bool start();
  void run() noexcept;

  detail::BackgroundThread thread_;  // its mutex guards the lists
  RefCounted* first_ = nullptr;
  RefCounted** end_ = &first_;
  Retry* retries_ = nullptr;
};

}  // namespace weir
