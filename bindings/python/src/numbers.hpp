// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"

/// Converts Python numbers to bytes.
namespace weir::python {

/// Writes `number` to `to` as `type`. Returns false, without an exception, for a number that does not fit. Throws the
/// exceptions of Python's conversion, such as TypeError for a string.
bool store_number(void* to, nb::handle number, DType type);
/// Writes the value of a fill in the same way. Throws ValueError if it does not fit.
void store_element(void* to, nb::handle number, DType type);

}  // namespace weir::python
