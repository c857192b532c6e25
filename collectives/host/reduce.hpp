// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weir/communicator.hpp"

/// Reductions of elements in host memory.
namespace weir::collectives {

/// Each element of `into` becomes its reduction with that of `from`; `avg` adds. Half and bfloat16 are rounded at each step.
void combine(ElementType type, Reduction reduction, void* into, const void* from, std::size_t count) noexcept;
/// Divides each element, for `avg`.
void divide(ElementType type, void* data, std::size_t count, int divisor) noexcept;

/// IEEE's half and bfloat16 by their bits, rounded to the nearest even.
float half_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_half(float value) noexcept;
float bfloat16_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_bfloat16(float value) noexcept;

}  // namespace weir::collectives
