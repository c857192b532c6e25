// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/kept_values.hpp"

namespace weir::workgroup {

/// Replaces the kernel's body, which is for one thread, by a loop over all threads for each region. `threads`: the number of
/// threads along each axis, 64-bit values computed in `top`.
void make_thread_loops(BlockFunction& block, const Regions& regions, const KeptValues& kept,
                       llvm::Value* const (&threads)[3]);

}  // namespace weir::workgroup
