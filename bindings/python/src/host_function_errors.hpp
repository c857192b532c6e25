// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "bindings/python/src/common.hpp"
#include "weir/fwd.hpp"

/// Exceptions of Python functions.
namespace weir::python {

/// Stores what functions raised until it is raised. When it is destroyed, the exception goes to sys.unraisablehook.
class HostFunctionErrors {
 public:
  HostFunctionErrors() = default;
  HostFunctionErrors(const HostFunctionErrors&) = delete;
  HostFunctionErrors& operator=(const HostFunctionErrors&) = delete;
  ~HostFunctionErrors();
  /// Takes the exception that is set. Keeps the first; later ones go to sys.unraisablehook. With the GIL held.
  void keep(PyObject* callable);
  bool is_empty() const noexcept { return exception_ == nullptr; }
  /// The stored exception, or null; for the garbage collector. With the GIL held.
  PyObject* exception() const noexcept { return exception_; }
  /// Passes the exception to sys.unraisablehook. With the GIL held.
  void report() noexcept;
  /// Raises the exception, once. With the GIL held.
  void raise(const Stream& stream);

 private:
  friend void report_left() noexcept;
  PyObject* take() noexcept;

  std::atomic<PyObject*> exception_{nullptr};
};

/// Called at interpreter shutdown with the GIL held: reports all exceptions that nobody has raised.
void report_left() noexcept;

}  // namespace weir::python
