// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "weir/fwd.hpp"

/// Shared by all files of the extension module.
namespace weir::python {

namespace nb = nanobind;

/// The Python exception for a Weir error: a new reference, or null with another exception set. With the GIL held.
PyObject* new_exception(const Error& error) noexcept;
/// Throws TypeError: `name`, an argument, must be `expected`.
[[noreturn]] void throw_wrong_type(const char* name, const char* expected, nb::handle given);
/// Sets the C++ exception that is being handled as Python's.
void set_python_error() noexcept;

// Each binds one concept; module.cpp calls them in this order.
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
