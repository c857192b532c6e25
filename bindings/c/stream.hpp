// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weir/c/stream.h"
#include "weir/stream.hpp"

/// Conversion of memory operations to C.
namespace weir::c {

/// Converts a memory operation to the C structure.
weir_memory_operation operation_of(const MemoryOperation& operation) noexcept;

}  // namespace weir::c
