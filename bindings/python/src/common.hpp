// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "weir/fwd.hpp"

/// Declarations that all files of the extension module share.
namespace weir::python {

namespace nb = nanobind;

/// Returns the Python exception for a Weir error as a new reference, or null with another exception set. Call it with the
/// GIL held.
PyObject* new_exception(const Error& error) noexcept;
/// Throws TypeError: the argument `name` must be `expected`, and is `given`.
[[noreturn]] void throw_wrong_type(const char* name, const char* expected, nb::handle given);
/// Converts the current C++ exception to a Python exception and sets it.
void set_python_error() noexcept;

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
void bind_foreign_streams(nb::module_& module);

}  // namespace weir::python
