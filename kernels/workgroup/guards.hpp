// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "kernels/workgroup/kept_values.hpp"

namespace weir::workgroup {

using Path = llvm::SmallVector<llvm::BasicBlock*, 4>;

/// A branch in which threads differ, as in `if (i < n)`: of the threads along x the first ones go one way and the rest the
/// other.
struct Guard {
  bool condition_of_first;  ///< what the condition is for the first ones
  llvm::Value* base;        ///< they are those with base + threadIdx.x < bound
  llvm::Value* bound;
  bool is_signed;
  bool inclusive;  ///< "<=" instead
};

/// The branch by which a region's threads are run in loops of their own, where this branch goes one way.
struct Decision {
  llvm::BranchInst* branch = nullptr;  ///< or null: there is one loop for all
  Path path;                           ///< the only one from the region's entry to the branch
  std::optional<Guard> guard;          ///< if not, all threads go the same way,
  std::vector<Decision> ways;          ///< and this is what follows if the condition is true, or false
};

/// The values of the block that are known where a region begins: those kept in variables.
using KnownValues = llvm::DenseMap<const llvm::AllocaInst*, llvm::Value*>;

Decision find_decision(const BlockFunction& block, const Region& region, const KnownValues& known);

/// The condition of a branch that all threads take the same way.
llvm::Value* copy_condition(const BlockFunction& block, const Decision& decision, const KnownValues& known,
                            llvm::IRBuilder<>& builder);

struct Split {
  llvm::Value* count;  ///< of the first threads, at most `threads`, of 64 bits
  llvm::Value* wraps;  ///< base + threadIdx.x does: `count` means nothing
};
Split split_threads(const BlockFunction& block, const Decision& decision, const KnownValues& known,
                    llvm::IRBuilder<>& builder, llvm::Value* threads);

}  // namespace weir::workgroup
