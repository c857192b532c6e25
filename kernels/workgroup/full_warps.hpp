// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Puts a loop for full warps before each small loop that lanes may leave at different times, as `for (i = lane; i < n;
/// i += 32)`: while all lanes of the warp take a turn, loads and stores need no mask. The loop that was there takes the
/// other turns. For warps whose lanes are all there at first.
void step_full_warps(llvm::Function& function);

/// Whether `value` is a call that this has put in: i1 (i32 predicate, T a, T b), whether all lanes of the warp are here, and
/// the comparison holds for each. It may be false although that is so.
bool asks_for_full_warp(const llvm::Value* value);

}  // namespace weir::workgroup
