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

/// The rules for which values differ between the lanes of a warp.
class WarpDivergence final : public DivergenceRules {
 public:
  bool is_source(const llvm::Value& value) const override;
  bool is_always_uniform(const llvm::Value& value) const override;
  /// Marks a value that is uniform although its operands are not, such as a shuffle in which all lanes read the same lane.
  /// Returns false if it was marked already.
  bool add_uniform(const llvm::Value& value) { return uniform_.insert(&value).second; }

 private:
  llvm::SmallPtrSet<const llvm::Value*, 16> uniform_;
};

/// Structures control flow that differs between lanes. Afterwards a branch either runs or skips a block, and a loop is left
/// only at its end. Where a lane returns before the function's end, it calls `lane_end`. Returns the calls that name lanes
/// and that may run before other lanes, which have already returned, reach their `lane_end`.
using Calls = llvm::SmallPtrSet<const llvm::Instruction*, 4>;
Calls structurize(llvm::Function& function, const DivergenceRules& rules);
bool is_lane_end(const llvm::Value* value);

/// Which lanes run which basic blocks of a structured function.
class LaneMasks {
 public:
  /// The lanes that run a basic block. They are a subset of the lanes of the parent mask.
  struct Mask {
    int parent = -1;
    llvm::BasicBlock* branch = nullptr;  ///< if not null: the lanes that go one way at this branch
    bool taken = false;                  ///< which way: true for the first successor
    llvm::Loop* loop = nullptr;          ///< if not null: the lanes that are still in this loop
    bool full = false;                   ///< if true: the whole warp, which then equals the parent mask
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
  /// Whether lanes leave the loop at different times.
  bool is_divergent_loop(const llvm::Loop* loop) const { return divergent_loops_.count(loop) != 0; }
  /// The outermost divergent loop that contains `from` but not `to`.
  llvm::Loop* divergent_loop_left(llvm::BasicBlock* from, llvm::BasicBlock* to) const;
  bool is_header_of_divergent_loop(llvm::BasicBlock* block) const;
  /// Whether all lanes that run the block `to` arrive there together, from one block.
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
