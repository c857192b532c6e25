// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "python/src/common.hpp"
#include "weir/stream.hpp"

/// Objects of other libraries.
namespace weir::python {

/// The stream that a number means in DLPack and in __cuda_array_interface__: a handle, or one of CUDA's and ROCm's numbers
/// for default streams. Does not own it.
StreamPtr stream_of_number(Device& device, std::uintptr_t number);
/// The number of a stream, likewise.
std::uintptr_t number_of_stream(Stream& stream);
/// The device that an object of another library names by its attributes, in `backend`, or in the default one for null; else
/// the first of `backend`, or the default device.
Device& device_of_foreign(nb::handle object, const char* backend);

/// weir.from_dlpack.
void bind_foreign_arrays(nb::module_& module);

}  // namespace weir::python
