// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "kernels/lexer.hpp"

/// Kernels in which threads of a block work together, as code that one thread runs for a whole block: each is split at the
/// places where threads meet, and what lies between becomes a loop over the block's threads.
namespace weir::kernels {

/// Counts changes of what splitting makes of a source.
inline constexpr int splitter_revision = 44;

struct Replacement {
  std::uint32_t first;  ///< the first token that is replaced
  std::uint32_t last;   ///< one past the last
  std::string text;     ///< with line markers; the text behind it needs one of its own
};

struct SplitSource {
  /// In the order of the source; none overlaps another.
  std::vector<Replacement> replacements;
  /// The names of kernels that were split: tokens. Their first parameter is to be a `::weir_host::block& weir_b`.
  std::set<std::uint32_t> kernels;
  /// Those of them in which threads do not meet, and are told apart by their number in the row of the grid alone: blocks
  /// of a row may run as one.
  std::set<std::uint32_t> flat;
  /// Whether what was split sets threadIdx and its like for code that reads them as variables.
  bool sets_thread_variables = false;
  /// Whether dynamic shared memory is declared outside of all functions that were split.
  bool uses_dynamic_array = false;

  bool empty() const noexcept { return replacements.empty(); }
};

/// Finds the functions in which threads work together, and what they are to be replaced by. A source without any is left as
/// it is. Throws Refused (words.hpp) for what cannot be split, with the token and the reason.
SplitSource split_functions(const TokenizedSource& source);

}  // namespace weir::kernels
