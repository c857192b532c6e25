// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetLibraryInfo.h>

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// A kernel whose warps run as vectors has two versions. A kernel whose lanes exchange no values may have "warps" of another
/// size.
enum class WarpVersion {
  whole_rows,  ///< the rows of the block are whole warps: each warp is full, and its lanes differ only in threadIdx.x
  any_block
};

/// Turns the code for a thread into code for a warp of `threads_in_step` threads; the block's loops then run over warps.
/// `needed`: loops over threads would be wrong; otherwise the kernel must gain by it. `library`: the mathematical functions
/// that exist for vectors. Throws `Refused`.
void vectorize_warps(BlockFunction& block, WarpVersion version, bool needed, const llvm::TargetLibraryInfo& library);

/// The number of warps along each axis, 64 bits.
void count_warps(const BlockFunction& block, WarpVersion version, llvm::Value* (&warps)[3]);

}  // namespace weir::workgroup
