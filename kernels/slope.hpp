// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernels/words.hpp"

namespace weir::kernels {

/// What the next thread of a row has: the same, one more, or something else.
enum class Slope : unsigned char { none, one, other };

/// The slope of a sum: that of the one term that has any. `slope_of_term(Words)` tells that of a term without its sign, and
/// of what is no sum whether it has any.
template <class SlopeOfTerm>
Slope slope_of_sum(const Words& words, SlopeOfTerm&& slope_of_term) {
  bool is_sum = !has_loose_operator(words);
  for (std::size_t i = 0; i < words.size(); i = after(words, i)) is_sum = is_sum && !words[i].is("<<") && !words[i].is(">>");
  if (!is_sum) return slope_of_term(words) == Slope::none ? Slope::none : Slope::other;
  Slope sum = Slope::none;
  for (std::size_t first = 0, i = 0; i <= words.size(); i = i < words.size() ? after(words, i) : i + 1) {
    const bool ends = i == words.size() || ((words[i].is("+") || words[i].is("-")) && !is_prefix(words, i));
    if (!ends) continue;
    const Slope term = slope_of_term(slice(words, first, i));
    const bool subtracted = first > 0 && words[first - 1].is("-");
    if (term != Slope::none) sum = term == Slope::one && sum == Slope::none && !subtracted ? Slope::one : Slope::other;
    first = i + 1;
  }
  return sum;
}

}  // namespace weir::kernels
