// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/access.hpp"

namespace weir::model {

/// Rows of bytes.
struct Region {
  std::uintptr_t begin = 0;
  std::size_t width = 0, pitch = 0, rows = 1;

  explicit Region(const MemoryAccess& access) noexcept;
  std::uintptr_t end() const noexcept { return begin + (rows - 1) * pitch + width; }
  bool is_contiguous() const noexcept { return rows == 1; }
  bool overlaps(const Region& other) const noexcept;
  /// Whether it contains all of `other`. May return false although it does.
  bool contains(const Region& other) const noexcept;
};

}  // namespace weir::model
