// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Whether neighbouring blocks of a row can run as one wide block, so that the loop over threads is as long as the row. This
/// is possible if the kernel uses the indices along x only in the sum blockIdx.x * blockDim.x + threadIdx.x, and no thread
/// waits for others or shares memory with its block. If possible, it removes the no-wrap flags from that sum, because they
/// hold only within one block.
bool can_join_blocks(llvm::Function& kernel);

}  // namespace weir::workgroup
