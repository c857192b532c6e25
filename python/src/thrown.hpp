// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "python/src/host_thread.hpp"

/// What functions in Python raised, until it is told.
namespace weir::python {

/// What functions raised, until somebody asks.
class Thrown {
 public:
  ~Thrown() { drop_later(exception_); }
  /// Takes the exception that is set, with the lock. The first is kept; later ones go to sys.unraisablehook.
  void keep(PyObject* callable);
  /// The interpreter's lock was out of reach. Any thread.
  void keep_stuck() noexcept { stuck_ = true; }
  bool is_empty() const noexcept { return exception_ == nullptr && !stuck_; }
  /// What is kept, for the collector of cycles; null if there is none. With the lock.
  PyObject* exception() const noexcept { return exception_; }
  /// Gives what was kept to sys.unraisablehook. With the lock.
  void report() noexcept;
  /// Raises what was kept, once. With the lock.
  void raise(const Stream& stream);

 private:
  std::atomic<PyObject*> exception_{nullptr};
  std::atomic<bool> stuck_{false};
};

}  // namespace weir::python
