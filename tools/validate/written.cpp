// SPDX-License-Identifier: Apache-2.0
#include "tools/validate/written.hpp"

#include <algorithm>
#include <iterator>

namespace weir::validate {
namespace {

// For a region with more rows than this, the gaps between rows also count as written.
constexpr std::size_t most_rows = 4096;

}  // namespace

void Written::add(const model::Region& region) {
  if (region.rows > most_rows) return add(region.begin, region.end());
  for (std::size_t row = 0; row < region.rows; ++row) {
    const std::uintptr_t begin = region.begin + row * region.pitch;
    add(begin, begin + region.width);
  }
}

std::size_t Written::missing_in(const model::Region& region) const {
  std::size_t missing = 0;
  for (std::size_t row = 0; row < region.rows; ++row) {
    const std::uintptr_t begin = region.begin + row * region.pitch;
    missing += missing_in(begin, begin + region.width);
  }
  return missing;
}

void Written::add(std::uintptr_t begin, std::uintptr_t end) {
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_.emplace_hint(next, begin, end);
}

std::size_t Written::missing_in(std::uintptr_t begin, std::uintptr_t end) const {
  std::size_t missing = 0;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin()) begin = std::max(begin, std::prev(next)->second);
  for (; begin < end; ++next) {
    const std::uintptr_t gap_end = next != ranges_.end() ? std::min(next->first, end) : end;
    missing += gap_end - std::min(begin, gap_end);
    if (gap_end == end) break;
    begin = next->second;
  }
  return missing;
}

}  // namespace weir::validate
