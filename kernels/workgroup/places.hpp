// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Instruction.h>

#include <string>

namespace weir::workgroup {

/// The line in the program from which a function of the prelude is called, and that function's name.
struct SourcePosition {
  std::string line;      ///< "kernel.cu:12"
  std::string function;  ///< "__syncthreads"
};
SourcePosition source_position(const llvm::Instruction& call);

/// Finds the program's line for an instruction that came from the prelude by inlining: the line that calls the prelude.
/// `function`: if not null, set to the name of the function of the prelude that the program calls.
const llvm::DILocation* position_in_program(const llvm::DILocation* location, llvm::StringRef* function = nullptr);

}  // namespace weir::workgroup
