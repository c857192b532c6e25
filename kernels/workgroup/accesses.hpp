// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Function.h>

namespace weir::workgroup {

/// Notes in the record of a function that runs a kernel which pointers among the parameters it only reads through, and
/// through which it makes atomic read-modify-writes alone. Of what cannot be followed nothing is noted.
void note_accesses(llvm::Function& run);

}  // namespace weir::workgroup
