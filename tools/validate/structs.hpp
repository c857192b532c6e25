// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "weir/kernel_argument.hpp"
#include "weir/plugin/operation.hpp"

namespace weir::validate {

/// Calls `f` with each possible address in the structs among a kernel's arguments: each of their words.
template <class F>
void for_each_word_in_structs(const Operation& operation, F&& f) {
  for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
    const auto [size, kind, access, update] = operation.parameters[i];
    if (kind != ParameterKind::unknown) continue;  // it contains no address, or is an address that the accesses include
    for (std::size_t at = 0; at + sizeof(void*) <= size; at += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, static_cast<const std::byte*>(operation.arguments[i]) + at, sizeof(word));
      if (word != nullptr) f(word);
    }
  }
}

}  // namespace weir::validate
