// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/thrown.hpp"

#include "weir/stream.hpp"

namespace weir::python {

void Thrown::keep(PyObject* callable) {
  if (exception_ != nullptr) return PyErr_WriteUnraisable(callable);
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  exception_ = value;
}

void Thrown::report() noexcept {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);  // the garbage collector may call this anywhere
  if (stuck_.exchange(false)) {
    PyErr_SetString(PyExc_TimeoutError,
                    "a stream that nobody waits for went on without a host function: no thread could get the interpreter's "
                    "lock (WEIR_PYTHON_GIL_TIMEOUT)");
    PyErr_WriteUnraisable(nullptr);
  }
  if (PyObject* const exception = exception_.exchange(nullptr)) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
    Py_DECREF(exception);
    PyErr_WriteUnraisable(nullptr);
  }
  PyErr_Restore(type, value, traceback);
}

void Thrown::raise(const Stream& stream) {
  nb::object exception = nb::steal(exception_.exchange(nullptr));
  if (exception.is_valid()) {
    const nb::str note(("raised by a host function of " + stream.describe()).c_str());
    const nb::object known = nb::getattr(exception, "__notes__", nb::tuple());  // of an object that was raised before
    if (!nb::cast<bool>(known.attr("__contains__")(note))) exception.attr("add_note")(note);
  } else if (stuck_.exchange(false)) {
    exception = nb::module_::import_("weir.errors")
                    .attr("HostFunctionTimeoutError")(("Stream.launch_host_func on " + stream.describe() +
                                                       ": the stream went on without a host function, or before it had "
                                                       "returned: no thread could get the interpreter's lock, which "
                                                       "some thread holds in a call that waits. Release the lock around "
                                                       "that call, or raise WEIR_PYTHON_GIL_TIMEOUT (seconds)")
                                                          .c_str());
  } else {
    return;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace weir::python
