// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace weir::kernels {

/// Whether a word stands in a list of words.
template <class List>
bool one_of(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace weir::kernels
