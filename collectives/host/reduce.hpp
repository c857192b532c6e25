// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/plugin/communicator.hpp"

/// Reductions of elements in host memory.
namespace weir::collectives {

/// Sets each element of all `into` to the reduction of the sources' elements. An `into` may be one of the sources. Half and
/// bfloat16 are computed as floats and rounded once.
void reduce(ElementType type, Reduction reduction, std::span<void* const> into, std::span<const void* const> sources,
            std::size_t count) noexcept;
/// Divides each element, for `avg`.
void divide(ElementType type, void* data, std::size_t count, int divisor) noexcept;
/// Converts half or bfloat16 to float, and back, divided by `divisor`.
void widen(ElementType type, float* to, const void* from, std::size_t count) noexcept;
void narrow(ElementType type, void* to, const float* from, std::size_t count, int divisor) noexcept;

/// Convert IEEE half and bfloat16, given by their bits, rounding to nearest even.
float half_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_half(float value) noexcept;
float bfloat16_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_bfloat16(float value) noexcept;

}  // namespace weir::collectives
