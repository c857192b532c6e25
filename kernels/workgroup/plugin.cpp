// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <llvm/Passes/PassBuilder.h>
#if __has_include(<llvm/Plugins/PassPlugin.h>)  // from LLVM 22 on
#include <llvm/Plugins/PassPlugin.h>
#else
#include <llvm/Passes/PassPlugin.h>
#endif
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include <cstdio>
#include <utility>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/form.hpp"
#include "kernels/workgroup/managed.hpp"
#include "kernels/workgroup/prepare.hpp"

namespace {

// Whether the plugin is loaded by the LLVM for which it was compiled. The plugin relies on that version's object layout, and
// LLVM does not check the version.
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

// Loops over threads are marked as parallel, because threads are independent. From the mark, LLVM concludes that no two
// accesses in the loop depend on each other. When it combines accesses to neighbouring elements, it may then reorder
// accesses of one thread to the same memory. So this disables that optimization.
void keep_order_in_threads() {
  const auto& options = llvm::cl::getRegisteredOptions();
  constexpr const char* name = "enable-interleaved-mem-accesses";
  const auto option = options.find(name);
  if (option != options.end() && option->second->getNumOccurrences() == 0)
    option->second->addOccurrence(0, name, "false");
}

/// Runs passes if the module is device code for the CPU. `weir c++` compiles the other halves of a program with this plugin,
/// too.
class ForCpu : public llvm::PassInfoMixin<ForCpu> {
 public:
  explicit ForCpu(llvm::ModulePassManager passes) : passes_(std::move(passes)) {}
  static bool isRequired() { return true; }
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
    if (module.getNamedValue(weir::host::module_symbol) == nullptr) return llvm::PreservedAnalyses::all();
    keep_order_in_threads();
    return passes_.run(module, analyses);
  }

 private:
  llvm::ModulePassManager passes_;
};

void register_passes(llvm::PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([](llvm::ModulePassManager& all, llvm::OptimizationLevel) {
    all.addPass(weir::workgroup::ManagedVariables());
    llvm::ModulePassManager passes;
    passes.addPass(weir::workgroup::PrepareKernels());
    all.addPass(ForCpu(std::move(passes)));
  });
  const auto form = [&builder](llvm::ModulePassManager& all, llvm::OptimizationLevel level) {
    llvm::ModulePassManager passes;
    passes.addPass(weir::workgroup::FormWorkGroups());
    // Inlines functions into kernels on fibers, and removes functions that nothing calls any longer.
    passes.addPass(llvm::AlwaysInlinerPass(false));
    passes.addPass(llvm::GlobalDCEPass());
    if (level != llvm::OptimizationLevel::O0) {
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(
          builder.buildFunctionSimplificationPipeline(level, llvm::ThinOrFullLTOPhase::None)));
    }
    all.addPass(ForCpu(std::move(passes)));
  };
#if LLVM_VERSION_MAJOR >= 20
  builder.registerOptimizerEarlyEPCallback([form](llvm::ModulePassManager& passes, llvm::OptimizationLevel level,
                                                  llvm::ThinOrFullLTOPhase) { form(passes, level); });
#else
  builder.registerOptimizerEarlyEPCallback(form);
#endif
}

}  // namespace

/// The plugin's only exported function, for `clang++ -fpass-plugin=`.
extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  // Returns version 0 if the LLVM does not match; the compiler then rejects the plugin.
  return {is_loaded_by_its_llvm() ? LLVM_PLUGIN_API_VERSION : 0U, "weir-workgroup", LLVM_VERSION_STRING, register_passes};
}
