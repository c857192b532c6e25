// SPDX-License-Identifier: Apache-2.0
#include "python/src/common.hpp"

// DLPack, in and out.
namespace weir::python {

void bind_dlpack(nb::module_&) {}

}  // namespace weir::python
