// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace weir::workgroup {

/// Marks the atomic instructions of functions of the prelude that update by a loop, as it annotates them. To be called
/// before they are inlined.
void note_updates(llvm::Module& module);

/// Notes in the record of a function that runs a kernel which pointers among the parameters it only reads through, and
/// through which it makes atomic updates of one kind alone. Of what cannot be followed nothing is noted.
void note_accesses(llvm::Function& run);

}  // namespace weir::workgroup
