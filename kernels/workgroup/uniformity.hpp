// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// Rules that define which values differ between threads by themselves, such as a thread's index.
class DivergenceRules {
 public:
  virtual bool is_source(const llvm::Value& value) const = 0;
  virtual bool is_always_uniform(const llvm::Value&) const { return false; }

 protected:
  ~DivergenceRules() = default;
};

/// Describes a target with these rules to LLVM. `rules` must outlive the result.
llvm::TargetIRAnalysis divergence_target(const llvm::DataLayout& layout, const DivergenceRules& rules);

/// LLVM's divergence analysis, with rules of the pass instead of the target's own. The function must be in LCSSA form. If
/// threads leave a loop at different times, a value from the loop counts as divergent only in the phi after the loop.
class Uniformity {
 public:
  Uniformity(llvm::Function& function, const DivergenceRules& rules);
  bool is_divergent(const llvm::Value& value) const { return info_->isDivergent(&value); }
  bool has_divergent_branch(const llvm::BasicBlock& block) const {
    return block.getTerminator()->getNumSuccessors() > 1 && info_->hasDivergentTerminator(block);
  }

 private:
  llvm::FunctionAnalysisManager analyses_;
  llvm::UniformityInfo* info_;
};

/// The rules for which values differ between the threads of a block.
class BlockDivergence final : public DivergenceRules {
 public:
  bool is_source(const llvm::Value& value) const override;
};

}  // namespace weir::workgroup
