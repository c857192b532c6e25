// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python/src/common.hpp"
#include "python/src/dtype.hpp"

/// Numbers of Python's as bytes.
namespace weir::python {

/// Writes `number` to `to` as one of `type`. False, without an exception, if it is none: an integer that does not fit.
/// Throws what Python's conversion throws, as TypeError for a text.
bool store_number(void* to, nb::handle number, DType type);

}  // namespace weir::python
