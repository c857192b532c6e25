// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>

#include <string>
#include <vector>

#include "kernels/workgroup/block_function.hpp"
#include "kernels/workgroup/places.hpp"
#include "kernels/workgroup/uniformity.hpp"

namespace weir::workgroup {

/// The code between barriers: from the kernel's start or one barrier to the next barriers or the end. A basic block may be
/// in several regions; each gets a copy.
struct Region {
  llvm::BasicBlock* entry;
  llvm::SetVector<llvm::BasicBlock*> blocks;
  llvm::SetVector<unsigned> exits;  ///< the regions that follow
  bool ends = false;                ///< threads may return in this region
  SourcePosition barrier;           ///< the barrier where it begins
};

struct Regions {
  std::vector<Region> all;  ///< the first begins at the kernel's start
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> of_entry;
  bool diverge = false;  ///< threads may leave a region in different ways
};

/// A call that the pass inserts where all threads of a block take one iteration of a loop before any takes the next.
llvm::FunctionCallee rejoin_function(llvm::Module& module);
bool is_region_boundary(const llvm::Instruction& instruction);
/// Whether the loop contains a barrier.
bool waits_in(const llvm::Loop& loop);

/// Moves each barrier into its own basic block.
Regions split_at_barriers(BlockFunction& block);
/// Whether threads may leave a region in different ways because a condition differs between them.
bool may_diverge(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
