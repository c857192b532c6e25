// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernels/function.hpp"

/// What a piece of code does along a row of threads, of which each has a threadIdx.x that is one more than the one before:
/// for which of them it does anything, and which of its indices count with them. Compilers take neighbouring threads
/// together where they see that there is no condition and that no index wraps around.
namespace weir::kernels {

struct RowPart {
  Words condition;
  bool negated = false;
  /// The side of a comparison that is one more for the next thread, and the other one, which is the same along a row. Empty
  /// if the whole condition is the same along a row.
  Words counting, fixed;
};

struct Rows {
  std::vector<const Statement*> known;  ///< declarations that parts and indices need
  std::vector<RowPart> parts;           ///< a thread runs the body if all of them are true
  std::vector<Words> indices;           ///< in the body: each is one more for the next thread
  std::set<std::string> texts;          ///< of those indices
  std::vector<Words> converted;         ///< what is made a number of another type on the way to an index
  std::vector<const Statement*> body;
  bool useful = false;  ///< whether compilers need help with it
};

/// `statements` are a piece, of a function whose variables have their places.
Rows rows_of(const std::vector<const Statement*>& statements, const Function& function, const Unit& unit);

/// In a kernel whose threads do not meet: `if (c) return; rest` as `if (!(c)) { rest }`.
void enclose_behind_returns(Function& function);

}  // namespace weir::kernels
