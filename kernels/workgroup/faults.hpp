// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {

/// Emits a report that threads wait at different barriers. `states`: for each of the `threads`, the region that it waits to
/// enter, or -1 if it has returned. `first` and `last`: the lowest and the highest of these regions.
void report_divergence(const BlockFunction& block, const Regions& regions, llvm::IRBuilder<>& builder, llvm::Value* states,
                       llvm::Value* threads, llvm::Value* first, llvm::Value* last);

/// Emits a report that `call` names lanes that do not make it. `missing`: these lanes. `first`: the first lane that makes
/// the call.
void report_missing_lanes(const BlockFunction& block, llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                          llvm::Value* missing, llvm::Value* first, bool whole_rows);

}  // namespace weir::workgroup
