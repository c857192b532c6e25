// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "weir/kernel_argument.hpp"
#include "weir/plugin/operation.hpp"

/// Finds addresses in the struct arguments of kernels.
namespace weir::validate {

/// Calls `f` with each possible address in a kernel's struct arguments, that is, with each word of the structs.
template <class F>
void for_each_word_in_structs(const Operation& operation, F&& f) {
  for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
    const auto [size, kind, access, update] = operation.parameters[i];
    if (kind != ParameterKind::unknown) continue;  // not a struct: a number, or a pointer, which is one of the accesses
    for (std::size_t at = 0; at + sizeof(void*) <= size; at += sizeof(void*)) {
      const void* word = nullptr;
      std::memcpy(&word, static_cast<const std::byte*>(operation.arguments[i]) + at, sizeof(word));
      if (word != nullptr) f(word);
    }
  }
}

}  // namespace weir::validate
