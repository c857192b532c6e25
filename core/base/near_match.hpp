// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Finds the name that a mistyped word probably means, for suggestions in errors.
namespace weir::detail {

/// The least number of insertions, deletions, substitutions and swaps of adjacent letters that turn `a` into `b`, ignoring
/// case (the optimal string alignment distance).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](std::size_t i, std::size_t j) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(a[i - 1]) == lower(b[j - 1]);
  };
  // Rows i - 2, i - 1 and i of the distance table.
  std::vector<std::size_t> before(b.size() + 1), last = before, row = before;
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i, j) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j)) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

/// The name that is closest to `word`; empty if none is close. A name is close if at most a third of the letters differ, or
/// one letter in a short word.
template <class Names>
std::string_view nearest_name(std::string_view word, const Names& names) {
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (std::string_view name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace weir::detail
