// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Creates a function that runs a range of blocks. Its type is `host::RunBlocks`.
llvm::Function* make_run_function(const BlockFunction& block);

/// Replaces the kernel's code, so that it calls `run`. `any_block`, if not null, runs those blocks whose rows do not consist
/// of whole warps of `lanes` threads.
void make_entry(llvm::Function& kernel, llvm::Function* run, llvm::Function* any_block = nullptr, unsigned lanes = 1);

}  // namespace weir::workgroup
