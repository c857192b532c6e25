// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Dominators.h>

#include <memory>
#include <vector>

#include "kernels/workgroup/uniformity.hpp"

namespace weir::workgroup {

inline constexpr unsigned warp_size = 32;

/// Between the lanes of a warp.
class WarpDivergence final : public DivergenceRules {
 public:
  bool is_source(const llvm::Value& value) const override;
  bool is_always_uniform(const llvm::Value& value) const override;
  /// Adds a shuffle whose lanes all take the value of one lane.
  bool add_uniform(const llvm::Value& shuffle) { return uniform_.insert(&shuffle).second; }

 private:
  llvm::SmallPtrSet<const llvm::Value*, 16> uniform_;
};

/// Makes control flow that differs between lanes structured: a branch skips a block or does not, and a loop is left at its
/// end alone. Where a lane returns before the function's end, it calls `lane_end`. Returns the calls in which lanes are
/// asked for before others that return have come to their end.
using Calls = llvm::SmallPtrSet<const llvm::Instruction*, 4>;
Calls structurize(llvm::Function& function, const DivergenceRules& rules);
bool is_lane_end(const llvm::Value* value);

/// Which lanes run which block of a structured function.
class LaneMasks {
 public:
  /// Lanes that run a block, as a part of those that run another one.
  struct Mask {
    int parent = -1;
    llvm::BasicBlock* branch = nullptr;  ///< they are those that go one way here
    bool taken = false;                  ///< the way
    llvm::Loop* loop = nullptr;          ///< or: those that are still in this loop
    bool full = false;                   ///< or: all of the warp, which then are all those that run the other
  };
  static constexpr int all = 0;

  /// Throws `Refused` if the control flow is not structured.
  LaneMasks(llvm::Function& function, const DivergenceRules& rules);

  const Uniformity& uniformity() const { return *uniformity_; }
  const std::vector<llvm::BasicBlock*>& blocks() const { return blocks_; }  ///< in reverse post-order
  unsigned order(llvm::BasicBlock* block) const { return order_.lookup(block); }
  const Mask& mask(int number) const { return masks_[static_cast<unsigned>(number)]; }
  int mask_of(llvm::BasicBlock* block) const { return mask_of_.lookup(block); }
  bool is_full(int number) const { return number == all || mask(number).full; }
  bool is_divergent_branch(llvm::BasicBlock* block) const { return divergent_branches_.count(block) != 0; }
  /// A loop that its lanes leave at different times.
  bool is_divergent_loop(const llvm::Loop* loop) const { return divergent_loops_.count(loop) != 0; }
  /// The outermost divergent loop that has `from` and not `to`.
  llvm::Loop* divergent_loop_left(llvm::BasicBlock* from, llvm::BasicBlock* to) const;
  bool is_header_of_divergent_loop(llvm::BasicBlock* block) const;
  /// Whether all lanes of the block `to` come from one place at once.
  bool comes_whole(llvm::BasicBlock* from, llvm::BasicBlock* to) const;

  const llvm::LoopInfo& loops() const { return loops_; }
  const llvm::DominatorTree& dominators() const { return dominators_; }
  const llvm::PostDominatorTree& post_dominators() const { return post_dominators_; }

 private:
  void find_divergent_loops();
  int mask_it_is(llvm::BasicBlock* block) const;
  void number_masks();
  void check_joins() const;
  void check_loops() const;

  llvm::Function& function_;
  std::unique_ptr<Uniformity> uniformity_;
  llvm::DominatorTree dominators_;
  llvm::PostDominatorTree post_dominators_;
  llvm::LoopInfo loops_;
  std::vector<llvm::BasicBlock*> blocks_;
  llvm::DenseMap<llvm::BasicBlock*, unsigned> order_;
  llvm::SmallPtrSet<const llvm::Loop*, 4> divergent_loops_;
  llvm::SmallPtrSet<llvm::BasicBlock*, 8> divergent_branches_;
  std::vector<Mask> masks_;
  llvm::DenseMap<llvm::BasicBlock*, int> mask_of_;
};

}  // namespace weir::workgroup
