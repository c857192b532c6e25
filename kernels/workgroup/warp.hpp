// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetLibraryInfo.h>

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Of a kernel whose warps run as vectors there are two versions. A kernel whose lanes do not ask for each other may have
/// "warps" of another size.
enum class WarpVersion {
  whole_rows,  ///< rows of the block are whole warps: all lanes of a warp are there, and differ in threadIdx.x alone
  any_block
};

/// Makes of the code for a thread code for a warp of `threads_in_step` threads, of which the block's loops then are.
/// `needed`: loops over threads would not do; if not, the kernel must gain by it. `library`: which functions of mathematics
/// there are for vectors. Throws `Refused`.
void vectorize_warps(BlockFunction& block, WarpVersion version, bool needed, const llvm::TargetLibraryInfo& library);

/// How many warps there are along each axis, of 64 bits.
void count_warps(const BlockFunction& block, WarpVersion version, llvm::Value* (&warps)[3]);

}  // namespace weir::workgroup
