// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>
#include <vector>

#include "kernels/workgroup/kept_values.hpp"

namespace weir::workgroup {

using Path = llvm::SmallVector<llvm::BasicBlock*, 4>;

/// A value that is one more for each next thread along x: threadIdx.x, and what is added to it.
struct Line {
  struct Step {
    llvm::Value* value;         ///< to add or to subtract, the same for all threads of a row;
    llvm::Instruction* widens;  ///< or the extension of the sum to more bits
    bool subtracts;
  };
  llvm::SmallVector<Step, 4> steps;
};

/// A branch in which threads differ, as in `if (0 < x && x < width && y < height)`. In each row of threads along x, those
/// for which all parts hold lie beside each other; they go one way, and the rest the other.
struct Guard {
  struct Part {
    llvm::CmpInst::Predicate predicate;  ///< less, greater, or equal
    Line line;                           ///< compared with
    llvm::Value* bound;                  ///< this, or with `bound` itself where the row decides
    bool of_row;                         ///< `bound` is a condition, and must be
    bool row_is;                         ///< this
    bool may_begin_below_zero;           ///< `line` is less than `bound` without signs, and may wrap around to 0 first
  };
  llvm::SmallVector<Part, 4> parts;
  bool condition_inside;  ///< what the condition is for them
  bool from_first;        ///< they begin with the row's first thread
  bool to_last;           ///< they end with its last one
};

/// The branch by which a row of a region's threads is run in loops of their own, where this branch goes one way.
struct Decision {
  llvm::BranchInst* branch = nullptr;  ///< or null: there is one loop for all
  Path path;                           ///< the only one from the region's entry to the branch
  std::optional<Guard> guard;          ///< if not, all threads of a row go the same way,
  std::vector<Decision> ways;          ///< and this is what follows if the condition is true, or false
};

/// The values of the block that are known where a region begins: those kept in variables.
using KnownValues = llvm::DenseMap<const llvm::AllocaInst*, llvm::Value*>;

Decision find_decision(const BlockFunction& block, const Region& region, const KnownValues& known);

/// A row of threads along x.
struct Row {
  llvm::Value* index[3];  ///< of its threads, of 32 bits; along x null
  llvm::Value* threads;   ///< how many, of 64 bits
};

/// The condition of a branch that all threads of a row take the same way.
llvm::Value* copy_condition(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                            llvm::IRBuilder<>& builder);

struct Split {
  llvm::Value* begin;  ///< of the threads for which the guard's parts hold, of 64 bits; 0 <= begin <= end <= threads
  llvm::Value* end;
  llvm::Value* wraps;  ///< an index does, among these threads: `begin` and `end` mean nothing
};
Split split_threads(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                    llvm::IRBuilder<>& builder);

}  // namespace weir::workgroup
