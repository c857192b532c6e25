// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// The words by which threads of a block work together, and those of which a splitter knows what they do.
namespace weir::kernels {

/// A function at which threads meet: each is a place where a kernel is split.
struct Meeting {
  enum class Scope : unsigned char { block, warp };
  /// What its value is: none, the same for all threads of the block, or each thread's own.
  enum class Result : unsigned char { none, same, own };

  std::string_view name;
  Scope scope;
  Result result;
  int least_arguments;
  int most_arguments;
  bool takes_mask;  ///< the first argument names the lanes
};

/// Null for a word that is none. Those of groups of threads are called `_group_sync` and so on.
const Meeting* find_meeting(std::string_view name);
/// A function of a group of threads: `group.sync()` if `member`, else `cooperative_groups::sync(group)`. Null for a word
/// that is none.
const Meeting* find_group_meeting(std::string_view name, bool member);
bool is_of_group(const Meeting& meeting);
/// `threadIdx`, `blockIdx`, `blockDim`, `gridDim`.
bool is_built_in_variable(std::string_view name);
/// Whether it is an atomic function: atomicAdd and its like, with `_block` and `_system` too.
bool is_atomic(std::string_view name);
/// Functions of the prelude and the C library that take their arguments by value and depend on nothing else.
bool is_plain_function(std::string_view name);
/// Whether the word alone needs the feature `block_cooperation`.
bool is_cooperation(std::string_view name);

}  // namespace weir::kernels
