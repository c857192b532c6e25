// SPDX-License-Identifier: Apache-2.0
#include "python/src/objects.hpp"

// Streams of other libraries.
namespace weir::python {

StreamPtr foreign_stream_of(nb::handle, Device&) { throw nb::type_error("this is no stream: give a weir.Stream"); }

void bind_foreign_streams(nb::module_&) {}

}  // namespace weir::python
