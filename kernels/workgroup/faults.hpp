// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {

/// Reports that threads wait at different barriers. `states`: for each of the `threads`, the region that it waits to enter,
/// or -1 if it has returned. `first` and `last`: the least and the greatest of them.
void report_divergence(const BlockFunction& block, const Regions& regions, llvm::IRBuilder<>& builder, llvm::Value* states,
                       llvm::Value* threads, llvm::Value* first, llvm::Value* last);

/// Reports that `call` is made by some lanes and asks for `missing` ones. `first`: the first lane that makes it.
void report_missing_lanes(const BlockFunction& block, llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                          llvm::Value* missing, llvm::Value* first, bool whole_rows);

}  // namespace weir::workgroup
