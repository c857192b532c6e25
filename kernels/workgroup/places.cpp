// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/places.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>

#include "kernels/lexer.hpp"
#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {
namespace {

bool is_prelude(const llvm::DILocation& location) {
  const llvm::DISubprogram* const function = location.getScope()->getSubprogram();
  const std::string_view file = location.getFilename();
  return file == kernels::prelude_file_name || file.starts_with(kernels::header_folder) ||
         file.find("weir/cudart/include/") != file.npos ||  // the headers in place of CUDA's
         (function != nullptr && (function->getName().starts_with("__") || function->getName().starts_with("weir")));
}

}  // namespace

const llvm::DILocation* position_in_program(const llvm::DILocation* location, llvm::StringRef* function) {
  while (location != nullptr && location->getInlinedAt() != nullptr && is_prelude(*location)) {
    const llvm::DISubprogram* const passed = location->getScope()->getSubprogram();
    if (function != nullptr && passed != nullptr) *function = passed->getName().split('<').first;
    location = location->getInlinedAt();
  }
  return location;
}

SourcePosition source_position(const llvm::Instruction& call) {
  llvm::StringRef function = "__syncthreads";
  const llvm::DILocation* const location = position_in_program(call.getDebugLoc(), &function);
  SourcePosition position;
  position.function = function.str();
  if (function == "sync" && called_builtin(&call) == Builtin::block_barrier) position.function = "sync of a thread_block";
  if (function == "sync" && called_builtin(&call) == Builtin::other) position.function = "sync of a grid_group";
  position.line = location == nullptr ? call.getFunction()->getName().str()
                                      : (location->getFilename() + ":" + llvm::Twine(location->getLine())).str();
  return position;
}

}  // namespace weir::workgroup
