// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <string>
#include <typeinfo>

#include "bindings/python/src/common.hpp"
#include "weir/error.hpp"

// Each error code has an exception class in weir/errors.py: stream_closed is StreamClosedError.
namespace weir::python {
namespace {

nb::object class_of(Errc code) {
  std::string name;
  bool capital = true;
  for (const char c : to_string(code)) {
    if (c == '_') {
      capital = true;
      continue;
    }
    name += capital ? static_cast<char>(c - 'a' + 'A') : c;
    capital = false;
  }
  const nb::module_ errors = nb::module_::import_("weir.errors");
  return nb::getattr(errors, (name + "Error").c_str(), errors.attr("Error"));
}

nb::object exception_of(const Error& error) {
  std::string text = error.what();
  if (error.errc() == Errc::forked_process) text += "; in Python by multiprocessing.get_context(\"spawn\")";
  nb::object exception = class_of(error.errc())(text.c_str());
  exception.attr("code") = nb::cast(std::string(to_string(error.errc())).c_str());
  exception.attr("operation") = error.operation().c_str();
  exception.attr("object") = error.object().c_str();
  exception.attr("detail") = error.detail().c_str();
  exception.attr("native_code") = error.native().code;
  exception.attr("native_name") = error.native().name.c_str();
  return exception;
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error&) {
    set_python_error();
  } catch (const std::bad_cast&) {  // from nb::cast
    set_python_error();
  }
}

PyObject* class_of(nb::exception_type type) noexcept {
  switch (type) {
    case nb::exception_type::value_error: return PyExc_ValueError;
    case nb::exception_type::index_error: return PyExc_IndexError;
    case nb::exception_type::buffer_error: return PyExc_BufferError;
    case nb::exception_type::attribute_error: return PyExc_AttributeError;
    default: return PyExc_TypeError;
  }
}

}  // namespace

PyObject* new_exception(const Error& error) noexcept try { return exception_of(error).release().ptr(); } catch (...) {
  set_python_error();
  return nullptr;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(class_of(error.type()), error.what());
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "an argument, or a part of one, has the wrong type or is out of its type's range");
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const Error& error) {
    const nb::object exception = exception_of(error);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void bind_errors(nb::module_&) { nb::register_exception_translator(&translate); }

}  // namespace weir::python
