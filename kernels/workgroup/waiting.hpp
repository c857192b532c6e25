// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Returns an atomic access in a loop that may wait for another thread's write; null if there is none. Between barriers the
/// threads of a block run one after the other, so the awaited thread might never start.
const llvm::Instruction* find_wait(llvm::Function& kernel);

}  // namespace weir::workgroup
