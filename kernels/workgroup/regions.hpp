// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <string>
#include <vector>

#include "kernels/workgroup/block_function.hpp"
#include "kernels/workgroup/places.hpp"
#include "kernels/workgroup/uniformity.hpp"

namespace weir::workgroup {

/// A region: the code from the kernel's start or a barrier to the next barriers or the end. A basic block may be in several
/// regions; each region then gets a copy.
struct Region {
  llvm::BasicBlock* entry;
  llvm::SetVector<llvm::BasicBlock*> blocks;
  llvm::SetVector<unsigned> exits;  ///< the regions that may follow
  bool ends = false;                ///< threads may return in this region
  SourcePosition barrier;           ///< the barrier at which the region begins
};

struct Regions {
  std::vector<Region> all;  ///< the first one begins at the kernel's start
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> of_entry;
  bool diverge = false;  ///< whether threads of one block may leave a region in different ways
};

/// A function that the pass calls to mark a place where threads meet: all threads of a block must finish one iteration of a
/// loop before any begins the next.
llvm::FunctionCallee rejoin_function(llvm::Module& module);
bool is_region_boundary(const llvm::Instruction& instruction);
/// Whether the loop contains a barrier.
bool waits_in(const llvm::Loop& loop);

/// An innermost loop in LLVM's form, which is left only at its end.
struct LatchedLoop {
  std::vector<llvm::BasicBlock*> blocks;
  llvm::BasicBlock* preheader = nullptr;
  llvm::BasicBlock* header = nullptr;
  llvm::BasicBlock* latch = nullptr;
  llvm::BasicBlock* exit = nullptr;

  /// Returns false if the loop has another form.
  bool assign(const llvm::Loop& loop);
  /// Copies the blocks. `map` is not yet applied to the copies.
  llvm::SmallVector<llvm::BasicBlock*> copy(llvm::ValueToValueMapTy& map, const llvm::Twine& suffix) const;
};

/// Moves each barrier into its own basic block, and returns the regions between them.
Regions split_at_barriers(BlockFunction& block);
/// The blocks on the paths from a branch, up to the block where these paths join again.
llvm::SetVector<llvm::BasicBlock*> blocks_before_join(llvm::BasicBlock* branch,
                                                     const llvm::PostDominatorTree& post_dominators);
/// A branch that differs between threads and whose sides have different barriers before they join, or null. Threads may meet
/// at such barriers if whole warps take the same side.
const llvm::Instruction* branch_between_barriers(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);
/// Whether threads may leave a region in different ways because a condition differs between them.
bool may_diverge(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
