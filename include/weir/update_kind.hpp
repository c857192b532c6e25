// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// `UpdateKind`: the kinds of atomic updates that commute.
namespace weir {

/// The kind of an atomic read-modify-write, for the race detector. Updates of the same kind commute: in any order they have
/// the same result, except for the rounding of floating-point sums. Updates of different kinds do not commute. Operations
/// that swap, compare or wrap around (atomicExch, atomicCAS, atomicInc, atomicDec) do not commute and have no kind.
enum class UpdateKind : std::uint8_t {
  unknown,
  add_32,  ///< 32 bits; includes subtraction
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
