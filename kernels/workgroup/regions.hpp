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

/// Moves each barrier into its own basic block, and returns the regions between them.
Regions split_at_barriers(BlockFunction& block);
/// Whether threads may leave a region in different ways because a condition differs between them.
bool may_diverge(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
