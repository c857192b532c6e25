// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Instructions.h>

namespace weir::workgroup {

/// Whether the call is an `expf` that `expand_exponentials` replaces: the compiler may use vector functions (they round in
/// another way), and the processor has fused multiply-add.
bool expands(const llvm::CallInst& call, const llvm::TargetLibraryInfo& library);

/// Replaces `expf`, of numbers and of vectors, by instructions. The vector functions of the C library take twice as many for
/// eight numbers, and their callers keep no vector in a register. The error is below 1 ulp for all arguments.
void expand_exponentials(llvm::Function& function, const llvm::TargetLibraryInfo& library);

}  // namespace weir::workgroup
