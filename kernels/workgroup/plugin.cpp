// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include <cstdio>

#include "kernels/workgroup/form.hpp"
#include "kernels/workgroup/prepare.hpp"

namespace {

// The plugin relies on the object layout of its own LLVM's headers. LLVM does not check that the versions match.
bool is_loaded_by_its_llvm() {
  using GetVersion = void (*)(unsigned*, unsigned*, unsigned*);
  const auto get_version = reinterpret_cast<GetVersion>(::dlsym(RTLD_DEFAULT, "LLVMGetVersion"));
  if (get_version == nullptr) return true;
  unsigned major = 0, minor = 0, patch = 0;
  get_version(&major, &minor, &patch);
  if (major == LLVM_VERSION_MAJOR) return true;
  std::fprintf(stderr,
               "weir: this work-group pass is for LLVM %d, and the compiler has LLVM %u; load weir_workgroup-%u.so\n",
               LLVM_VERSION_MAJOR, major, major);
  return false;
}

// Loops over threads are marked as parallel because threads are independent. LLVM concludes that no two accesses depend on
// each other: when it joins accesses to neighbouring elements, it may reorder one thread's accesses to the same memory. So
// that optimization is disabled.
void keep_order_in_threads() {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto option = options.find("enable-interleaved-mem-accesses");
  if (option != options.end() && option->second->getNumOccurrences() == 0)
    option->second->addOccurrence(0, option->first(), "false");
}

void register_passes(llvm::PassBuilder& builder) {
  keep_order_in_threads();
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(weir::workgroup::PrepareKernels()); });
  const auto form = [&builder](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
    passes.addPass(weir::workgroup::FormWorkGroups());
    // Inlines into kernels on fibers, and removes functions that none of them calls.
    passes.addPass(llvm::AlwaysInlinerPass(false));
    passes.addPass(llvm::GlobalDCEPass());
    if (level == llvm::OptimizationLevel::O0) return;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(
        builder.buildFunctionSimplificationPipeline(level, llvm::ThinOrFullLTOPhase::None)));
  };
#if LLVM_VERSION_MAJOR >= 20
  builder.registerOptimizerEarlyEPCallback([form](llvm::ModulePassManager& passes, llvm::OptimizationLevel level,
                                                  llvm::ThinOrFullLTOPhase) { form(passes, level); });
#else
  builder.registerOptimizerEarlyEPCallback(form);
#endif
}

}  // namespace

/// The plugin's one entry, for `clang++ -fpass-plugin=`.
extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  // The compiler rejects version 0.
  return {is_loaded_by_its_llvm() ? LLVM_PLUGIN_API_VERSION : 0U, "weir-workgroup", LLVM_VERSION_STRING, register_passes};
}
