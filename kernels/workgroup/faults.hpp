// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {

/// Builds code that reports that threads wait at different barriers. `states`: for each of the `threads` threads, the number
/// of the region that the thread waits to enter, or -1 if it has returned. `first`, `last`: the lowest and the highest of
/// these numbers.
void report_divergence(const BlockFunction& block, const Regions& regions, llvm::IRBuilder<>& builder, llvm::Value* states,
                       llvm::Value* threads, llvm::Value* first, llvm::Value* last);

/// Builds code that reports that `call` names lanes which do not make the call. `missing`: the mask of those lanes. `first`:
/// the first lane that makes the call.
void report_missing_lanes(const BlockFunction& block, llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                          llvm::Value* missing, llvm::Value* first, bool whole_rows);

}  // namespace weir::workgroup
