// SPDX-License-Identifier: Apache-2.0
#include "tools/race/accesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::race {
namespace {

constexpr std::size_t most_doubts = 10000;

}  // namespace

void Accesses::touch(Access access, const Clock& clock, bool is_free) {
  if (access.region.width == 0) return;
  if (access.writes() && access.by != Toucher::value) values_.forget(access.region);
  Block* const block = memory_.find(access.region.begin);
  if (block == nullptr) return;
  if (access.region.is_contiguous()) access.region.width = std::min(access.region.width, block->end - access.region.begin);
  if (block->freed && !is_free) {
    // A host function that was enqueued before the free may touch the memory when the free is enqueued already.
    if (access.point.lane == block->freed_at.lane && access.point.number < block->freed_at.number) return;
    report_.add(Fault::use_after_free, {access.region, AccessKind::write, {}, block->freed}, access, *block, "");
    return;
  }
  for (const Access& before : block->accesses) judge(before, access, clock, *block);
  if (!add_access(*block, std::move(access), clock, streams_.host())) {
    report_.add_limit(
        fmt::format("more than {} accesses to the {} bytes at {:#x} are under way, and the first are forgotten",
                    most_accesses, block->end - block->begin, block->begin));
  }
}

void Accesses::judge_end(const Block& block, const Access& access, std::string_view awaited) {
  for (const Access& before : block.accesses) {
    if (before.step->device != awaited) judge(before, access, streams_.host(), block);
  }
}

void Accesses::withdraw(std::uint64_t operation, std::uintptr_t address) {
  if (Block* const block = memory_.find(address))
    std::erase_if(block->accesses, [&](const Access& access) { return access.is_of(operation); });
}

void Accesses::judge(const Access& first, const Access& second, const Clock& clock, const Block& block) {
  if (!first.conflicts_with(second)) return;
  // A host function touches memory when it runs: work that comes behind it, on its stream or others, may have been submitted
  // before that.
  if (first.point.lane == second.point.lane) return;
  bool open = false;
  if (clock.covers(first.point, open) || (first.clock && first.clock->covers(second.point, open))) return;
  if (!open) return add_race(first, second, block);
  if (doubts_.size() >= most_doubts) settle(false);
  if (doubts_.size() >= most_doubts) {
    report_.add_limit(
        fmt::format("more than {} pairs of operations depend on values that nothing has written", most_doubts));
    return;
  }
  doubts_.push_back({first, second, first.clock ? *first.clock : Clock(), clock,
                     Block{.begin = block.begin, .end = block.end, .made = block.made, .name = block.name}});
}

void Accesses::add_race(const Access& first, const Access& second, const Block& block) {
  if (!report_.has_told(first, second)) report_.add(Fault::race, first, second, block, streams_.early_wait(first, second));
}

void Accesses::settle(bool is_exit) {
  std::erase_if(doubts_, [&](const Doubt& doubt) {
    bool open = false;
    if (doubt.second_clock.covers(doubt.first.point, open) || doubt.first_clock.covers(doubt.second.point, open))
      return true;
    if (!open) add_race(doubt.first, doubt.second, doubt.block);
    return !open || is_exit;
  });
}

}  // namespace weir::race
