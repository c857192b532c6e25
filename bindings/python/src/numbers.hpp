// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"

/// Converts Python numbers to bytes.
namespace weir::python {

/// Writes `number` to `to` as `type`. False, without an exception, for a number that does not fit. Throws what Python's
/// conversion raises, such as TypeError for a string.
bool store_number(void* to, nb::handle number, DType type);
/// The same for the value of a fill. Throws ValueError if it does not fit.
void store_element(void* to, nb::handle number, DType type);

}  // namespace weir::python
