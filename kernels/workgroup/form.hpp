// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// The LLVM pass that turns each kernel into a function that runs blocks. It runs after kernels are simplified and inlined,
/// and before loops are vectorized. A kernel that it cannot handle stays unchanged and runs on fibers.
class FormWorkGroups : public llvm::PassInfoMixin<FormWorkGroups> {
 public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace weir::workgroup
