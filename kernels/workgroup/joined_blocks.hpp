// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Whether a thread knows of its place along x no more than blockIdx.x * blockDim.x + threadIdx.x, and no thread waits for
/// others or shares memory with its block. Then neighbouring blocks of a row can run as one wide block, whose loop over
/// threads is as long as the row. If so, takes the flags off that sum that hold within one block alone.
bool can_join_blocks(llvm::Function& kernel);

}  // namespace weir::workgroup
