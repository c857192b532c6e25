// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/PassManager.h>

namespace weir::workgroup {

/// The rules that define where threads begin to differ.
class DivergenceRules {
 public:
  virtual bool is_source(const llvm::Value& value) const = 0;
  virtual bool is_always_uniform(const llvm::Value&) const { return false; }

 protected:
  ~DivergenceRules() = default;
};

/// A target with these rules. The rules must outlive it.
llvm::TargetIRAnalysis divergence_target(const llvm::DataLayout& layout, const DivergenceRules& rules);

/// LLVM's divergence analysis with our rules instead of the target's. The function must be in LCSSA form: a loop's value
/// that threads leave at different times counts as divergent only in the phi after the loop.
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

/// Rules for differences between the threads of a block.
class BlockDivergence final : public DivergenceRules {
 public:
  bool is_source(const llvm::Value& value) const override;
};

}  // namespace weir::workgroup
