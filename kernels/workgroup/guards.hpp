// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>
#include <vector>

#include "kernels/workgroup/kept_values.hpp"

namespace weir::workgroup {

using Path = llvm::SmallVector<llvm::BasicBlock*, 4>;

/// A value that rises by one from each thread to the next along x: threadIdx.x plus uniform values.
struct Line {
  struct Step {
    llvm::Value* value;         ///< to add or to subtract, uniform in a row;
    llvm::Instruction* widens;  ///< or the instruction that extends the sum to more bits
    bool subtracts;
  };
  llvm::SmallVector<Step, 4> steps;
};

/// A branch that divides threads, such as `if (0 < x && x < width && y < height)`. In each row along x, the threads for
/// which all parts hold are contiguous; they go one way, the others the other way.
struct Guard {
  struct Part {
    llvm::CmpInst::Predicate predicate;  ///< less, greater, or equal
    Line line;                           ///< the left side of the comparison
    llvm::Value* bound;                  ///< the right side; if `of_row`, a condition that is uniform in the row
    bool of_row;                         ///< the part is `bound` == `row_is`, without a comparison
    bool row_is;                         ///< see `of_row`
    /// unsigned "`line` < `bound`" whose `line` may begin below zero and wrap around to 0
    bool may_begin_below_zero;
  };
  llvm::SmallVector<Part, 4> parts;
  bool condition_inside;  ///< the value of the condition for the contiguous threads
  bool from_first;        ///< they begin with the first thread of the row
  bool to_last;           ///< they end with the last thread of the row
};

/// A branch that divides the threads of a region's row into separate loops. The threads of one loop all take the same way.
struct Decision {
  llvm::BranchInst* branch = nullptr;  ///< null: there is one loop for all threads
  Path path;                           ///< the only path from the region's entry to the branch
  std::optional<Guard> guard;          ///< without a value: the condition is uniform in the row
  std::vector<Decision> ways;          ///< the next decisions after a true and after a false condition
};

/// The values that are known where a region begins, by the variables that keep them.
using KnownValues = llvm::DenseMap<const llvm::AllocaInst*, llvm::Value*>;

Decision find_decision(const BlockFunction& block, const Region& region, const KnownValues& known);

/// A row of threads along x.
struct Row {
  llvm::Value* index[3];  ///< of its threads, 32 bits; null along x
  llvm::Value* threads;   ///< how many, 64 bits
};

/// Copies the condition of a branch that all threads of a row take the same way.
llvm::Value* copy_condition(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                            llvm::IRBuilder<>& builder);

struct Split {
  llvm::Value* begin;  ///< of the threads for which the guard holds, 64 bits; 0 <= begin <= end <= threads
  llvm::Value* end;
  llvm::Value* wraps;  ///< an index wraps among these threads, so `begin` and `end` are invalid
};
Split split_threads(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                    llvm::IRBuilder<>& builder);

}  // namespace weir::workgroup
