// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// The LLVM pass for `__managed__` variables of whole CUDA programs, which the header puts into a section of their own. In a
/// program's host half it makes each use call `__weir_managed`, because Clang lets host code use a shadow of the variable,
/// with another address. In code for NVIDIA it gives the variables the attribute of PTX. For the CPU it has nothing to do.
class ManagedVariables : public llvm::PassInfoMixin<ManagedVariables> {
 public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace weir::workgroup
