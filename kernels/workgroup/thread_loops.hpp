// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/kept_values.hpp"

namespace weir::workgroup {

/// Replaces the kernel's body, which is for one thread, by a loop over the threads for each region. `threads`: how many
/// there are along each axis, of 64 bits, computed in `top`.
void make_thread_loops(BlockFunction& block, const Regions& regions, const KeptValues& kept,
                       llvm::Value* const (&threads)[3]);

}  // namespace weir::workgroup
