// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// Runs before all other passes. It makes them keep the order of threads and barriers, inlines all code that depends on the
/// thread into the kernels, and prevents unrolling of loops with barriers.
class PrepareKernels : public llvm::PassInfoMixin<PrepareKernels> {
 public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace weir::workgroup
