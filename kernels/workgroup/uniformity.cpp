// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/uniformity.hpp"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>

#include <memory>

#include "kernels/workgroup/block_function.hpp"
#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {
namespace {

class Target : public llvm::TargetTransformInfoImplCRTPBase<Target> {
 public:
  Target(const llvm::DataLayout& layout, const DivergenceRules& rules)
      : TargetTransformInfoImplCRTPBase<Target>(layout), rules_(&rules) {}
#if LLVM_VERSION_MAJOR >= 17
  bool hasBranchDivergence(const llvm::Function* = nullptr) const { return true; }
#else
  bool hasBranchDivergence() const { return true; }
#endif
#if LLVM_VERSION_MAJOR >= 22
  llvm::InstructionUniformity getInstructionUniformity(const llvm::Value* value) const override {
    if (rules_->is_always_uniform(*value)) return llvm::InstructionUniformity::AlwaysUniform;
    return rules_->is_source(*value) ? llvm::InstructionUniformity::NeverUniform : llvm::InstructionUniformity::Default;
  }
#else
  bool isAlwaysUniform(const llvm::Value* value) const { return rules_->is_always_uniform(*value); }
  bool isSourceOfDivergence(const llvm::Value* value) const { return rules_->is_source(*value); }
#endif

 private:
  const DivergenceRules* rules_;
};

}  // namespace

llvm::TargetIRAnalysis divergence_target(const llvm::DataLayout& layout, const DivergenceRules& rules) {
  return llvm::TargetIRAnalysis([&layout, &rules](const llvm::Function&) {
#if LLVM_VERSION_MAJOR >= 21
    return llvm::TargetTransformInfo(std::make_unique<Target>(layout, rules));
#else
    return llvm::TargetTransformInfo(Target(layout, rules));
#endif
  });
}

Uniformity::Uniformity(llvm::Function& function, const DivergenceRules& rules) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  // Registered first, because the first registration takes effect: this replaces the target's own analysis.
  analyses_.registerPass([&] { return divergence_target(layout, rules); });
  llvm::PassBuilder().registerFunctionAnalyses(analyses_);
  info_ = &analyses_.getResult<llvm::UniformityInfoAnalysis>(function);
}

bool BlockDivergence::is_source(const llvm::Value& value) const {
  if (llvm::isa<llvm::AllocaInst>(value)) return true;  // an address in private memory differs between threads
  if (llvm::isa<llvm::AtomicRMWInst>(value) || llvm::isa<llvm::AtomicCmpXchgInst>(value)) return true;
  // Each thread's atomic access sees another value, even after it has become a plain one.
  if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&value))
    return !load->isSimple() || load->hasMetadata(once_atomic);
  if (called_builtin(&value) == Builtin::thread_index) return true;
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&value);
  return call != nullptr && !call->doesNotAccessMemory();
}

}  // namespace weir::workgroup
