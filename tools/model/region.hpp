// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/access.hpp"

/// Regions of memory, with tests for overlap.
namespace weir::model {

/// The memory of an access: `rows` rows of `width` bytes, with `pitch` bytes from one row to the next.
struct Region {
  std::uintptr_t begin = 0;
  std::size_t width = 0, pitch = 0, rows = 1;

  explicit Region(const MemoryAccess& access) noexcept;
  std::uintptr_t end() const noexcept { return begin + (rows - 1) * pitch + width; }
  bool is_contiguous() const noexcept { return rows == 1; }
  bool overlaps(const Region& other) const noexcept;
  /// Whether this region contains all of `other`. Conservative for several rows: false is possible even if it does.
  bool contains(const Region& other) const noexcept;
};

}  // namespace weir::model
