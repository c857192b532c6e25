// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "weir/fwd.hpp"

/// Declarations that all files of the extension module share.
namespace weir::python {

namespace nb = nanobind;

/// Returns the Python exception for a C++ exception as a new reference. Call it with the GIL held.
PyObject* new_exception(const std::exception_ptr& thrown) noexcept;
/// Throws TypeError: the argument `name` must be `expected`, and is `given`.
[[noreturn]] void throw_wrong_type(const char* name, const char* expected, nb::handle given);
/// Converts the current C++ exception to a Python exception and sets it.
void set_python_error() noexcept;

/// Returns the value of an argument that is one of these texts. Throws ValueError.
template <class T>
T choice(const char* argument, const std::string& given, const std::vector<std::pair<const char*, T>>& choices) {
  std::string all;
  for (const auto& [text, value] : choices) {
    if (given == text) return value;
    all += std::string(all.empty() ? "'" : text == choices.back().first ? " or '" : ", '") + text + "'";
  }
  throw nb::value_error((std::string(argument) + ": '" + given + "'; it is " + all).c_str());
}

/// Returns the Python class of T, to add methods.
template <class T>
nb::class_<T> bound() {
  return nb::borrow<nb::class_<T>>(nb::type<T>());
}

// Each of these adds one concept's classes and functions to the module. module.cpp calls them in this order.
void bind_gil(nb::module_& module);
void bind_errors(nb::module_& module);
void bind_dtypes(nb::module_& module);
void bind_device(nb::module_& module);
void bind_event(nb::module_& module);
void bind_stream(nb::module_& module);
void bind_current_stream(nb::module_& module);
void bind_buffer(nb::module_& module);
void bind_memory_pool(nb::module_& module);
void bind_values(nb::module_& module);
void bind_partition(nb::module_& module);
void bind_interprocess(nb::module_& module);
void bind_kernel(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_graph_parts(nb::module_& module);
void bind_graph_changes(nb::module_& module);
void bind_portable_graph(nb::module_& module);
void bind_host_functions(nb::module_& module);
void bind_dlpack(nb::module_& module);
void bind_foreign_arrays(nb::module_& module);
void bind_foreign_streams(nb::module_& module);

}  // namespace weir::python
