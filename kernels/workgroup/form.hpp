// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// Runs when the code of kernels is simplified and inlined, before loops are vectorized: makes of each kernel a function
/// that runs blocks. A kernel that it does not understand stays as it is, for fibers.
class FormWorkGroups : public llvm::PassInfoMixin<FormWorkGroups> {
 public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace weir::workgroup
