// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_function_gate.hpp"
#include "bindings/python/src/host_thread.hpp"
#include "weir/stream.hpp"

namespace weir::python {
namespace {

/// The exceptions that were not raised yet. The mutex is never held while Python is called.
struct Left {
  std::mutex mutex;
  std::set<HostFunctionErrors*> stored;
  std::vector<PyObject*> ownerless;  // exceptions of a destroyed HostFunctionErrors
};
/// Never destroyed, because driver threads may run after main.
Left& left() {
  static Left* const all = new Left;
  return *all;
}

void report_ownerless() noexcept {
  std::vector<PyObject*> exceptions;
  {
    const std::lock_guard lock(left().mutex);
    exceptions.swap(left().ownerless);
  }
  for (PyObject* const exception : exceptions) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    Py_DECREF(exception);
    PyErr_WriteUnraisable(nullptr);
  }
}

class FailureReport final : public Task {
 public:
  void run() override { report_ownerless(); }
  void abandon() noexcept override {}  // `report_left` reports the exceptions
};

void disown(PyObject* exception) {
  const std::lock_guard lock(left().mutex);
  left().ownerless.push_back(exception);
}

}  // namespace

HostFunctionErrors::~HostFunctionErrors() {
  PyObject* const exception = take();
  if (exception == nullptr) return;
  disown(exception);
  if (!is_finalizing() && !is_forked()) function_thread().post(std::make_shared<FailureReport>());
}

PyObject* HostFunctionErrors::take() noexcept {
  if (exception_ == nullptr) return nullptr;
  const std::lock_guard lock(left().mutex);
  left().stored.erase(this);
  return exception_.exchange(nullptr);
}

void HostFunctionErrors::keep(PyObject* callable) {
  if (exception_ != nullptr) return PyErr_WriteUnraisable(callable);
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  const std::lock_guard lock(left().mutex);
  left().stored.insert(this);
  exception_ = value;
}

void HostFunctionErrors::report() noexcept {
  PyObject* const exception = take();
  if (exception == nullptr) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  // Save the current exception, because the garbage collector may call this at any time.
  PyErr_Fetch(&type, &value, &traceback);
  disown(exception);
  report_ownerless();
  PyErr_Restore(type, value, traceback);
}

void HostFunctionErrors::raise(const Stream& stream) {
  const nb::object exception = nb::steal(take());
  if (!exception.is_valid()) return;
  const nb::str note(("raised by a host function of " + stream.describe()).c_str());
  const nb::object known = nb::getattr(exception, "__notes__", nb::tuple());  // may have the note from an earlier raise
  if (!nb::cast<bool>(known.attr("__contains__")(note))) exception.attr("add_note")(note);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void report_left() noexcept {
  {
    const std::lock_guard lock(left().mutex);
    for (HostFunctionErrors* const thrown : std::exchange(left().stored, {})) {
      if (PyObject* const exception = thrown->exception_.exchange(nullptr)) left().ownerless.push_back(exception);
    }
  }
  report_ownerless();
}

}  // namespace weir::python
