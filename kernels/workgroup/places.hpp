// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/DebugLoc.h>
#include <llvm/IR/Instruction.h>

#include <string>

namespace weir::workgroup {

/// Where the program makes a call, and of what.
struct Place {
  std::string line;      ///< "kernel.cu:12"
  std::string function;  ///< "__syncthreads"
};
Place place_of(const llvm::Instruction& call);

/// The line of the program on which the prelude's functions, as they are inlined one into the other, led to `location`.
/// `function`, if not null, is set to the outermost of them.
const llvm::DILocation* place_in_program(const llvm::DILocation* location, llvm::StringRef* function = nullptr);

}  // namespace weir::workgroup
