// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/plugin/communicator.hpp"

/// Reductions of elements in host memory.
namespace weir::collectives {

/// Sets each element in all of `into` to the reduction of that element in all sources. `into` may contain one of the
/// sources. Half and bfloat16 are computed as floats and rounded once.
void reduce(ElementType type, Reduction reduction, std::span<void* const> into, std::span<const void* const> sources,
            std::size_t count) noexcept;
/// Divides each element by `divisor`, for `avg`.
void divide(ElementType type, void* data, std::size_t count, int divisor) noexcept;
/// `widen` converts half or bfloat16 to float; `narrow` divides floats by `divisor` and converts them back.
void widen(ElementType type, float* to, const void* from, std::size_t count) noexcept;
void narrow(ElementType type, void* to, const float* from, std::size_t count, int divisor) noexcept;

/// Convert between float and the bits of an IEEE half or bfloat16, rounding to nearest even.
float half_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_half(float value) noexcept;
float bfloat16_to_float(std::uint16_t bits) noexcept;
std::uint16_t float_to_bfloat16(float value) noexcept;

}  // namespace weir::collectives
