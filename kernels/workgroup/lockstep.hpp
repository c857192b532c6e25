// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {

/// Makes accesses to shared memory volatile, which keeps the lanes of a warp in lockstep there, if no barrier separates a
/// store from a load that may read what another lane stored. Older CUDA programs omit `__syncwarp` and rely on lockstep.
void keep_lockstep(llvm::Function& kernel, const Variables& shared);

}  // namespace weir::workgroup
