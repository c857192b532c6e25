// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bindings/python/src/common.hpp"
#include "weir/stream.hpp"

/// Converts streams and arrays of other libraries to Weir's.
namespace weir::python {

/// Returns the stream for a number in DLPack or __cuda_array_interface__: a handle, or CUDA's or ROCm's number for a default
/// stream. The stream is borrowed.
StreamPtr stream_of_number(Device& device, std::uintptr_t number);
/// Returns the number of a stream: the inverse of `stream_of_number`.
std::uintptr_t number_of_stream(Stream& stream);
/// Returns the device that another library's object has in its attributes. `backend`: its backend, or null for the default
/// one. If the object has no device: the first device of `backend`, or the default device.
Device& device_of_foreign(nb::handle object, const char* backend);

/// Returns a buffer over the memory of another library's array, like `weir.from_dlpack(object, stream=stream)`.
nb::object buffer_over(nb::handle object, nb::handle stream);

/// Adds weir.from_dlpack to the module.
void bind_foreign_arrays(nb::module_& module);

}  // namespace weir::python
