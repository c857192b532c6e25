// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Returns an atomic access whose loop may wait for another thread's write, or null. Threads of a block run one after the
/// other between barriers, so the awaited thread might never start.
const llvm::Instruction* find_wait(llvm::Function& kernel);

}  // namespace weir::workgroup
