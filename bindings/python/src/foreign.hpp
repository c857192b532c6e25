// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bindings/python/src/common.hpp"
#include "weir/stream.hpp"

/// Objects of other libraries.
namespace weir::python {

/// The stream for a number of DLPack or __cuda_array_interface__: a handle, or CUDA's or ROCm's number for a default stream.
/// Borrowed.
StreamPtr stream_of_number(Device& device, std::uintptr_t number);
/// The inverse.
std::uintptr_t number_of_stream(Stream& stream);
/// The device in `backend` (null: the default backend) that another library's object names by its attributes. If it names
/// none: the first device of `backend`, or the default device.
Device& device_of_foreign(nb::handle object, const char* backend);

/// What `weir.from_dlpack(object, stream=stream)` returns.
nb::object buffer_over(nb::handle object, nb::handle stream);

/// weir.from_dlpack.
void bind_foreign_arrays(nb::module_& module);

}  // namespace weir::python
