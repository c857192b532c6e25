// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "bindings/python/src/common.hpp"
#include "weir/fwd.hpp"

/// Stores the exceptions of Python functions that streams call.
namespace weir::python {

/// Stores the exception of a Python function until it is raised. If this is destroyed earlier, the exception is passed to
/// sys.unraisablehook.
class HostFunctionErrors {
 public:
  HostFunctionErrors() = default;
  HostFunctionErrors(const HostFunctionErrors&) = delete;
  HostFunctionErrors& operator=(const HostFunctionErrors&) = delete;
  ~HostFunctionErrors();
  /// Stores the current Python exception. Only the first is stored; later ones are passed to sys.unraisablehook. Call it
  /// with the GIL held.
  void keep(PyObject* callable);
  bool is_empty() const noexcept { return exception_ == nullptr; }
  /// Returns the stored exception, or null; for the garbage collector. Call it with the GIL held.
  PyObject* exception() const noexcept { return exception_; }
  /// Passes the exception to sys.unraisablehook. Call it with the GIL held.
  void report() noexcept;
  /// Raises the exception and forgets it. Call it with the GIL held.
  void raise(const Stream& stream);

 private:
  friend void report_left() noexcept;
  PyObject* take() noexcept;

  std::atomic<PyObject*> exception_{nullptr};
};

/// Reports all exceptions that were not raised. Called at interpreter shutdown with the GIL held.
void report_left() noexcept;

}  // namespace weir::python
