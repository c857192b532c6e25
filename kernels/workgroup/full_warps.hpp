// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Adds a loop for full warps before each small loop that lanes may leave at different times, such as `for (i = lane; i < n;
/// i += 32)`. While all lanes take an iteration, loads and stores need no mask; the original loop takes the remaining
/// iterations. For warps that begin with all lanes.
void step_full_warps(llvm::Function& function);

/// Whether `value` is a call that this function has inserted: i1 (i32 predicate, T a, T b), true if all lanes of the warp
/// are active and the comparison holds for each. It may be conservatively false.
bool asks_for_full_warp(const llvm::Value* value);

}  // namespace weir::workgroup
