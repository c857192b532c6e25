// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetLibraryInfo.h>

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// A kernel whose warps run as vectors is compiled in two versions. If its lanes exchange no values, a "warp" of such a
/// kernel may have another size than the program's.
enum class WarpVersion {
  /// Every row of the block consists of whole warps: each warp is full, and its lanes differ only in threadIdx.x.
  whole_rows,
  any_block
};

/// Turns the code for one thread into code for a warp of `threads_in_step` threads; the loops over threads then become loops
/// over warps. `needed`: the kernel would be wrong with loops over threads. If false, a kernel that would not become faster
/// is refused. `library`: the mathematical functions that have vector versions. Throws `Refused`.
void vectorize_warps(BlockFunction& block, WarpVersion version, bool needed, const llvm::TargetLibraryInfo& library);

/// Computes the number of warps along each axis, as 64-bit values.
void count_warps(const BlockFunction& block, WarpVersion version, llvm::Value* (&warps)[3]);

}  // namespace weir::workgroup
