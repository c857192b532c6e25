// SPDX-License-Identifier: Apache-2.0
#include "tools/race/memory.hpp"

#include <algorithm>
#include <utility>

namespace weir::race {
namespace {

/// Whether rows of `a` meet the piece [begin, end).
bool rows_meet(const Region& a, std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (end <= a.begin || begin >= a.end()) return false;
  if (a.is_one_piece()) return true;
  // The last row that begins before the end, unless it ends too early.
  const std::size_t row = std::min<std::size_t>((end - 1 - a.begin) / a.pitch, a.rows - 1);
  return a.begin + row * a.pitch + a.width > begin;
}

}  // namespace

Region::Region(const MemoryAccess& access) noexcept
    : begin(reinterpret_cast<std::uintptr_t>(access.address)), width(access.bytes), pitch(access.pitch), rows(access.rows) {
  if (rows > 1 && pitch <= width) {  // without gaps
    width += (rows - 1) * pitch;
    rows = 1;
  }
}

bool Region::overlaps(const Region& other) const noexcept {
  const Region& fewer = rows <= other.rows ? *this : other;
  const Region& more = rows <= other.rows ? other : *this;
  for (std::size_t row = 0; row < fewer.rows; ++row) {
    const std::uintptr_t first = fewer.begin + row * fewer.pitch;
    if (rows_meet(more, first, first + fewer.width)) return true;
  }
  return false;
}

bool Region::contains(const Region& other) const noexcept {
  if (is_one_piece()) return begin <= other.begin && end() >= other.end();
  return begin == other.begin && width >= other.width && pitch == other.pitch && rows >= other.rows;
}

Block& Memory::add(std::uintptr_t begin, std::size_t bytes, StepPtr made) {
  const std::uintptr_t end = begin + bytes;
  auto next = blocks_.lower_bound(begin);
  if (next != blocks_.begin() && std::prev(next)->second.end > begin) --next;
  while (next != blocks_.end() && next->second.begin < end) next = blocks_.erase(next);
  Block& block = blocks_[begin];
  block = {begin, end, std::move(made), nullptr, {}, {}};
  return block;
}

void Memory::remove(std::uintptr_t begin) { blocks_.erase(begin); }

Block* Memory::find(std::uintptr_t address) {
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return nullptr;
  Block& block = std::prev(next)->second;
  return address < block.end ? &block : nullptr;
}

bool add_access(Block& block, Access access, const Clock& clock, const Clock& host) {
  std::erase_if(block.accesses, [&](const Access& before) {
    bool open = false;
    return access.region.contains(before.region) && (access.writes || !before.writes) &&
           (before.point == access.point ? access.writes == before.writes : clock.covers(before.point, open));
  });
  if (block.accesses.size() >= most_accesses) {
    std::erase_if(block.accesses, [&](const Access& before) { return host.at(before.point.lane) >= before.point.number; });
  }
  const bool is_full = block.accesses.size() >= most_accesses;
  if (is_full) block.accesses.erase(block.accesses.begin());
  block.accesses.push_back(std::move(access));
  return !is_full;
}

}  // namespace weir::race
