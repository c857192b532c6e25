// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace weir::workgroup {

/// Marks the atomic instructions in those functions of the prelude that make an update in a loop; annotations identify these
/// functions. Call this before they are inlined.
void mark_updates(llvm::Module& module);

/// Writes two facts into the kernel's record: through which pointer parameters the kernel only reads, and which it uses only
/// for atomic updates of one kind. `run`: the function that runs the kernel. Pointers that cannot be traced are left out.
void record_accesses(llvm::Function& run);

}  // namespace weir::workgroup
