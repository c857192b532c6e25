// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Random numbers that depend only on a seed and a position.
namespace weir::model {

/// splitmix64: mixes the bits so that close inputs have unrelated results.
inline std::uint64_t scrambled(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27U) * 0x94d049bb133111eb;
  return x ^ x >> 31U;
}

}  // namespace weir::model
