// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Instruction.h>

#include <string>

namespace weir::workgroup {

/// The program's source line of a call and the called function's name.
struct SourcePosition {
  std::string line;      ///< "kernel.cu:12"
  std::string function;  ///< "__syncthreads"
};
SourcePosition source_position(const llvm::Instruction& call);

/// The program's line whose call of the prelude's functions, once inlined, produced `location`. `function`, if not null,
/// receives the outermost of these functions.
const llvm::DILocation* position_in_program(const llvm::DILocation* location, llvm::StringRef* function = nullptr);

}  // namespace weir::workgroup
