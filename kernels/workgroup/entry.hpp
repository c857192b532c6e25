// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Makes a function that runs a range of blocks: `host::RunBlocks`.
llvm::Function* make_run_function(const BlockFunction& block);

/// Makes `weir_run_KERNEL`, which the host's workers call. `any_block`, if it is not null, runs blocks whose rows are not
/// whole warps of `lanes` threads.
void make_entry(llvm::Function& kernel, llvm::Function* run, llvm::Function* any_block = nullptr, unsigned lanes = 1);

}  // namespace weir::workgroup
