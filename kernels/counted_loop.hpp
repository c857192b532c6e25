// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "kernels/function.hpp"

/// Loops that count a variable, in one form.
namespace weir::kernels {

/// The loop at `statements[at]` as `for (T i = first; condition; i += step) …`, if it can be written so and `T` is a type
/// that is written out. Taken are
///   while (i < n) { …; i += step; }            after `T i = first;`
///   for (; i < n; i = i + step) …              after `T i = first;`
///   for (i = first; i < n; i += step) …        where every use of `i` is in such a loop
///   for (T i = k; k < n; k += step, i = k) …   after `U k = first;`, as PyTorch's CUDA_KERNEL_LOOP has it
/// A `continue` in it goes on behind its body. Nothing if the loop has another form, or what it counts is used behind it.
std::optional<Statement> as_counted_loop(const std::vector<Statement>& statements, std::size_t at, const Function& function,
                                         const Unit& unit);

}  // namespace weir::kernels
