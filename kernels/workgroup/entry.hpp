// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Creates a function that runs a range of blocks. Its type is `host::RunBlocks`.
llvm::Function* make_run_function(const BlockFunction& block);

/// Creates `weir_run_KERNEL`, the function that the host's workers call. `any_block`, if not null, runs those blocks whose
/// rows do not consist of whole warps of `lanes` threads.
void make_entry(llvm::Function& kernel, llvm::Function* run, llvm::Function* any_block = nullptr, unsigned lanes = 1);

}  // namespace weir::workgroup
