// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace weir::workgroup {

/// Marks the atomic instructions of the prelude's functions that update in a loop, as those functions are annotated. Call it
/// before they are inlined.
void mark_updates(llvm::Module& module);

/// Writes into the kernel's record which pointer parameters are only read through, and which are used only for atomic
/// updates of one kind. `run`: the function that runs the kernel. Pointers that cannot be traced are left out.
void record_accesses(llvm::Function& run);

}  // namespace weir::workgroup
