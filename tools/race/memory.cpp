// SPDX-License-Identifier: Apache-2.0
#include "tools/race/memory.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace weir::race {
namespace {

// Limit on accesses that have an heir (memory.hpp), for each place in the program. In a loop, the first few are enough.
constexpr int most_with_heirs = 4;

/// Returns a wait that is open in `clock` but was not yet open at `before`, or null.
std::shared_ptr<ValueWait> opened_since(const Access& before, const Clock& clock) {
  auto now = clock.open_waits();
  if (now.empty()) return nullptr;
  auto then = before.clock ? before.clock->open_waits() : std::vector<std::shared_ptr<ValueWait>>();
  std::sort(now.begin(), now.end());
  std::sort(then.begin(), then.end());
  std::vector<std::shared_ptr<ValueWait>> since;
  std::set_difference(now.begin(), now.end(), then.begin(), then.end(), std::back_inserter(since));
  return since.empty() ? nullptr : since.front();
}

/// Whether each later access that races with `before` also races with `access`, so that `before` can be dropped.
bool stands_for(const Access& access, const Access& before, const Clock& clock) {
  bool open = false;
  if (!before.commutes_like(access)) return false;  // `access` races with fewer accesses
  return access.region.contains(before.region) && (access.writes() || !before.writes()) &&
         (access.by == Accessor::work || access.by == before.by) &&
         (before.point == access.point ? access.writes() == before.writes() : clock.covers(before.point, open));
}

}  // namespace

bool add_access(Block& block, Access access, const Clock& clock, const Clock& host) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> with_heirs;  // for each place and lane
  std::erase_if(block.accesses, [&](Access& before) {
    if (!before.heir && !stands_for(access, before, clock)) return false;
    // If a wait opened between the two accesses, it may order the later one after other work that races with the earlier
    // one. So the earlier one is kept until the wait ends.
    if (!before.heir || before.until->before) before.until = opened_since(before, before.heir ? *before.heir : clock);
    if (!before.until) return true;
    if (!before.heir) before.heir = access.clock;
    return ++with_heirs[{before.step->place, before.point.lane}] > most_with_heirs;
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
