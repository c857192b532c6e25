// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace weir::kernels {

/// Concatenates the texts.
template <std::size_t... N>
consteval auto joined(const char (&... parts)[N]) {
  std::array<char, (... + (N - 1)) + 1> all{};
  std::size_t at = 0;
  const auto append = [&](const char* part, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) all[at++] = part[i];
  };
  (append(parts, N - 1), ...);
  return all;
}

}  // namespace weir::kernels
