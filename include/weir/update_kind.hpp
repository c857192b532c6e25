// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weir {

/// What atomic read-modify-writes do with what lies there. Those of one kind commute: whatever their operands and their
/// order, they leave the same behind, but for the rounding of floating-point sums. No two kinds commute. What swaps,
/// compares or wraps around (atomicExch, atomicCAS, atomicInc, atomicDec) has no kind.
enum class UpdateKind : std::uint8_t {
  unknown,
  add_32,  ///< of 32 bits, also subtractions
  add_64,
  add_half,
  add_bfloat16,
  add_float,
  add_double,
  min_32,
  min_64,
  min_unsigned_32,
  min_unsigned_64,
  max_32,
  max_64,
  max_unsigned_32,
  max_unsigned_64,
  bit_and,
  bit_or,
  bit_xor,
};

}  // namespace weir
