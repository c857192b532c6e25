// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Passes/PassBuilder.h>

#include <utility>

namespace weir::workgroup {

/// Runs LLVM passes on one function, outside of the compiler's own sequence of passes.
template <class... Pass>
void run_passes(llvm::Function& function, Pass&&... passes) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager manager;
  (manager.addPass(std::forward<Pass>(passes)), ...);
  manager.run(function, functions);
}

}  // namespace weir::workgroup
