// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <optional>
#include <vector>

#include "kernels/workgroup/kept_values.hpp"

namespace weir::workgroup {

using Path = llvm::SmallVector<llvm::BasicBlock*, 4>;

/// A value that rises by one from each thread to the next along x: threadIdx.x plus values that are uniform in the row.
struct Line {
  struct Step {
    llvm::Value* value;         ///< a value to add or to subtract, uniform in a row;
    llvm::Instruction* widens;  ///< or an instruction that extends the sum to more bits
    bool subtracts;
  };
  llvm::SmallVector<Step, 4> steps;
};

/// A branch that divides the threads of a row, such as `if (0 < x && x < width && y < height)`. In each row along x, the
/// threads for which all parts hold are contiguous. They go one way, and the other threads go the other way.
struct Guard {
  struct Part {
    llvm::CmpInst::Predicate predicate;  ///< the comparison: less, greater, or equal
    Line line;                           ///< the left side of the comparison
    /// The right side of the comparison; if `of_row`, a condition that is uniform in the row.
    llvm::Value* bound;
    bool of_row;  ///< the part has no comparison with threadIdx.x: it means `bound` == `row_is`
    bool row_is;  ///< see `of_row`
    /// The part is an unsigned comparison "`line` < `bound`", and `line` may begin below zero and wrap around to 0.
    bool may_begin_below_zero;
  };
  llvm::SmallVector<Part, 4> parts;
  bool condition_inside;  ///< the branch's condition for the contiguous threads
  bool from_first;        ///< the contiguous threads include the first thread of the row
  bool to_last;           ///< the contiguous threads include the last thread of the row
};

/// A branch that divides the threads of a region's row into separate loops. All threads of one of these loops go the same
/// way.
struct Decision {
  llvm::BranchInst* branch = nullptr;  ///< null if no branch divides the threads: there is one loop for all
  Path path;                           ///< the only path from the region's entry to the branch
  std::optional<Guard> guard;          ///< if empty, the condition is uniform in the row
  std::vector<Decision> ways;          ///< the next decisions if the condition is true, and if it is false
};

/// Values that are known at the start of a region. The key is the variable that keeps the value.
using KnownValues = llvm::DenseMap<const llvm::AllocaInst*, llvm::Value*>;

Decision find_decision(const BlockFunction& block, const Region& region, const KnownValues& known);

/// A row of threads along x.
struct Row {
  llvm::Value* index[3];  ///< index of the row's threads along each axis, 32 bits; null along x
  llvm::Value* threads;   ///< number of threads, 64 bits
};

/// Copies the condition of a branch at which all threads of a row go the same way.
llvm::Value* copy_condition(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                            llvm::IRBuilder<>& builder);

struct Split {
  llvm::Value* begin;  ///< first and end of the threads for which the guard holds, 64 bits; 0 <= begin <= end <= threads
  llvm::Value* end;
  llvm::Value* wraps;  ///< true at run time if an index wraps within the row, so that `begin` and `end` are invalid
};
Split split_threads(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                    llvm::IRBuilder<>& builder);

}  // namespace weir::workgroup
