// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// Runs before anything else. It sees to it that the other passes keep the order of threads and barriers, that all code
/// which asks for the thread is inlined into the kernels, and that loops with barriers are not unrolled.
class PrepareKernels : public llvm::PassInfoMixin<PrepareKernels> {
 public:
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
};

}  // namespace weir::workgroup
