// SPDX-License-Identifier: Apache-2.0
#include "tools/model/region.hpp"

#include <algorithm>

namespace weir::model {
namespace {

/// Whether rows of `a` overlap [begin, end).
bool rows_overlap(const Region& a, std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (end <= a.begin || begin >= a.end()) return false;
  if (a.is_contiguous()) return true;
  // Only the last row that begins before `end` matters: it overlaps the range unless it ends before `begin`.
  const std::size_t row = std::min<std::size_t>((end - 1 - a.begin) / a.pitch, a.rows - 1);
  return a.begin + row * a.pitch + a.width > begin;
}

}  // namespace

Region::Region(const MemoryAccess& access) noexcept
    : begin(reinterpret_cast<std::uintptr_t>(access.address)), width(access.bytes), pitch(access.pitch), rows(access.rows) {
  if (rows > 1 && pitch <= width) {  // rows without gaps are one row
    width += (rows - 1) * pitch;
    rows = 1;
  }
}

bool Region::overlaps(const Region& other) const noexcept {
  const Region& fewer = rows <= other.rows ? *this : other;
  const Region& more = rows <= other.rows ? other : *this;
  for (std::size_t row = 0; row < fewer.rows; ++row) {
    const std::uintptr_t first = fewer.begin + row * fewer.pitch;
    if (rows_overlap(more, first, first + fewer.width)) return true;
  }
  return false;
}

bool Region::contains(const Region& other) const noexcept {
  if (is_contiguous()) return begin <= other.begin && end() >= other.end();
  return begin == other.begin && width >= other.width && pitch == other.pitch && rows >= other.rows;
}

}  // namespace weir::model
