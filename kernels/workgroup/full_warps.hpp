// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Adds code for full warps, whose loads and stores need no mask: a copy of what a small branch runs, such as `if (i < n)`;
/// and, before each small loop that lanes may leave at different times, such as `for (i = lane; i < n; i += 32)`, a loop
/// that runs while all lanes take an iteration. The original loop runs the remaining iterations. Use it only for warps that
/// begin with all lanes.
void step_full_warps(llvm::Function& function);

/// Whether `value` is a call that `step_full_warps` has inserted: i1 (i32 predicate, T a, T b). The call returns true if all
/// lanes of the warp are active and the comparison holds for each. It may return false even then.
bool asks_for_full_warp(const llvm::Value* value);

}  // namespace weir::workgroup
