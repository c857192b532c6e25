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

/// The code between barriers: what a thread runs from the kernel's beginning, or from one barrier, to the next barriers or
/// the end. A block may be in several regions, and each gets a copy.
struct Region {
  llvm::BasicBlock* entry;
  llvm::SetVector<llvm::BasicBlock*> blocks;
  llvm::SetVector<unsigned> exits;  ///< the regions that follow
  bool ends = false;                ///< threads may return in it
  Place barrier;                    ///< where it begins
};

struct Regions {
  std::vector<Region> all;  ///< the first is the kernel's beginning
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> of_entry;
  bool diverge = false;  ///< threads may leave a region in different ways
};

/// A call that this pass puts in where all threads of a block shall take one step of a loop before any takes the next one.
llvm::FunctionCallee rejoin_function(llvm::Module& module);
bool is_region_boundary(const llvm::Instruction& instruction);
/// Whether the loop has a barrier.
bool waits_in(const llvm::Loop& loop);

/// Gives each barrier a block of its own.
Regions split_at_barriers(BlockFunction& block);
/// Whether threads may leave a region in different ways, by what differs between threads.
bool may_diverge(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
