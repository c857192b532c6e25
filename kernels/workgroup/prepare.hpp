// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// The LLVM pass that runs before all others. It inlines all code that depends on the thread into the kernels, makes the
/// other passes keep the order of threads and barriers, and prevents unrolling of loops with barriers.
class PrepareKernels : public llvm::PassInfoMixin<PrepareKernels> {
 public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace weir::workgroup
