// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Function.h>

#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {

using Exchanges = llvm::SetVector<llvm::Instruction*>;

/// The accesses to shared memory through which lanes of a warp may exchange values without a barrier: a load and a store of
/// another lane that may be to the same address. Older CUDA programs omit `__syncwarp` and rely on lockstep, so the kernel
/// must run warps as vectors. Makes loads and stores of copies of structures.
Exchanges find_exchanges(llvm::Function& kernel, const Variables& shared);

/// Makes the accesses volatile, at which the lanes of a warp meet on fibers, too.
void keep_lockstep_on_fibers(const Exchanges& exchanges);

}  // namespace weir::workgroup
