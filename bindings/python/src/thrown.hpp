// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "bindings/python/src/host_thread.hpp"

/// Exceptions of Python functions.
namespace weir::python {

/// Stores what functions raised until it is raised or reported.
class Thrown {
 public:
  ~Thrown() { drop_later(exception_); }
  /// Takes the exception that is set. Keeps the first; later ones go to sys.unraisablehook. With the GIL held.
  void keep(PyObject* callable);
  /// Notes that the GIL was out of reach. On any thread.
  void keep_stuck() noexcept { stuck_ = true; }
  bool is_empty() const noexcept { return exception_ == nullptr && !stuck_; }
  /// The stored exception, for the garbage collector; null if there is none. With the GIL held.
  PyObject* exception() const noexcept { return exception_; }
  /// Passes the exception to sys.unraisablehook. With the GIL held.
  void report() noexcept;
  /// Raises the exception, once. With the GIL held.
  void raise(const Stream& stream);

 private:
  std::atomic<PyObject*> exception_{nullptr};
  std::atomic<bool> stuck_{false};
};

}  // namespace weir::python
