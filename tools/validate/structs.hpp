// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "weir/kernel_argument.hpp"
#include "weir/plugin/operation.hpp"

namespace weir::validate {

/// Calls `f` with each address that structs among a kernel's arguments may have in them: each word of theirs.
template <class F>
void for_each_word_in_structs(const Operation& operation, F&& f) {
  if (operation.argument_types == nullptr) return;
  const auto& [sizes, kinds] = *operation.argument_types;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i < 64 && (kinds.known >> i & 1) != 0) continue;  // a number, or a pointer that is told
    for (std::size_t at = 0; at + sizeof(void*) <= sizes[i]; at += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, static_cast<const std::byte*>(operation.arguments[i]) + at, sizeof(word));
      if (word != nullptr) f(word);
    }
  }
}

}  // namespace weir::validate
