// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Whether the kernel uses the indices along x only as blockIdx.x * blockDim.x + threadIdx.x, and no thread waits for others
/// or shares memory with its block. Then neighbouring blocks of a row can run as one wide block, whose loop over threads is
/// as long as the row. If so, it removes from that sum the no-wrap flags, which hold only within one block.
bool can_join_blocks(llvm::Function& kernel);

}  // namespace weir::workgroup
