// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// An atomic access by which a loop may wait for what another thread writes, or null. Threads of a block run one after the
/// other between barriers, so that a thread which is waited for might never start.
const llvm::Instruction* find_wait(llvm::Function& kernel);

}  // namespace weir::workgroup
