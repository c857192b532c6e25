// SPDX-License-Identifier: Apache-2.0
#include "tools/race/accesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::race {
namespace {

constexpr std::size_t most_undecided = 10000;

}  // namespace

void Accesses::add_pageable(const Region& region) {
  Block whole{.begin = region.begin, .end = region.end(), .made = nullptr, .is_pageable = true};
  if (whole.begin == whole.end) return;
  if (const Block* const there = memory_.find(whole.begin);
      there != nullptr && (!there->is_pageable || there->end >= whole.end))
    return;
  const auto is_over = [&](const Block& block) {
    return std::all_of(block.accesses.begin(), block.accesses.end(),
                       [&](const Access& access) { return streams_.host().at(access.point.lane) >= access.point.number; });
  };
  // Merge overlapping ranges.
  for (Block* part = memory_.last_before(whole.end - 1); part != nullptr && part->end > whole.begin;
       part = memory_.last_before(whole.end - 1)) {
    if (!part->is_pageable) return;
    whole.begin = std::min(whole.begin, part->begin);
    whole.end = std::max(whole.end, part->end);
    if (!is_over(*part)) whole.accesses.insert(whole.accesses.end(), part->accesses.begin(), part->accesses.end());
    memory_.remove(part->begin);
  }
  pageable_.push_back(whole.begin);
  memory_.add(std::move(whole));
  if (pageable_.size() < next_sweep_) return;
  std::sort(pageable_.begin(), pageable_.end());
  pageable_.erase(std::unique(pageable_.begin(), pageable_.end()), pageable_.end());
  std::erase_if(pageable_, [&](std::uintptr_t begin) {
    const Block* const block = memory_.find(begin);
    if (block == nullptr || !block->is_pageable || block->begin != begin) return true;
    if (begin == region.begin || !is_over(*block)) return false;
    memory_.remove(begin);
    return true;
  });
  next_sweep_ = std::max<std::size_t>(256, 2 * pageable_.size());
}

void Accesses::operate(const MemoryOperation& operation, const Point& point, Clock& clock) {
  if (operation.is_wait() && !values_.has(operation.address)) {
    if (const Block* const block = memory_.find(model::number_of(operation.address))) {
      values_.add(operation.address);
      for (const SmallWrite& write : block->small_writes) values_.overwrite(write, block->is_of_device, report_);
    }
  }
  values_.operate(operation, point, clock, report_);
}

/// Records a small write, because streams may wait for the values that it writes.
void Accesses::record_values(Block* block, const Access& access, const Clock& clock, std::span<const std::byte> element) {
  const bool is_small = access.region.is_contiguous() && access.region.width <= few_bytes;
  SmallWrite write{access.region, access.point, clock, {}};
  if (access.region.is_contiguous()) write.element.assign(element.begin(), element.end());
  values_.overwrite(write, block != nullptr && block->is_of_device, report_);
  if (block == nullptr) return;
  std::vector<SmallWrite>& kept = block->small_writes;
  std::erase_if(kept, [&](const SmallWrite& before) {
    bool open = false;
    return access.region.contains(before.region) && clock.covers(before.point, open);
  });
  if (!is_small) return;
  if (kept.size() >= most_small_writes) kept.erase(kept.begin());
  kept.push_back(std::move(write));
}

void Accesses::touch(Access access, const Clock& clock, bool is_free, std::span<const std::byte> element) {
  if (access.region.width == 0) return;
  Block* const block = memory_.find(access.region.begin);
  if (access.writes() && access.by != Accessor::value) {
    if (access.by == Accessor::work && !is_free) {
      record_values(block, access, clock, element);
    } else {
      values_.overwrite({access.region, access.point, clock, {}}, false, report_);
    }
  }
  if (block == nullptr) return;
  if (access.region.is_contiguous()) access.region.width = std::min(access.region.width, block->end - access.region.begin);
  if (block->freed && !is_free) {
    // A host function that was enqueued before the free may touch the memory after the free was enqueued.
    if (access.point.lane == block->freed_at.lane && access.point.number < block->freed_at.number) return;
    report_.add(Fault::use_after_free, {access.region, AccessKind::write, {}, block->freed}, access, *block, "");
    return;
  }
  for (const Access& before : block->accesses) judge(before, access, clock, *block);
  if (!add_access(*block, std::move(access), clock, streams_.host())) {
    report_.add_limit(
        fmt::format("more than {} accesses to the {} bytes at {:#x} are pending, so the first ones were dropped",
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
  // A host function touches memory when it runs. Work that is ordered after it, on its stream or others, may have been
  // submitted earlier, so the clocks are compared in both directions.
  if (first.point.lane == second.point.lane && !second.is_any_time) return;
  bool open = false;
  if (clock.covers(first.point, open) || (first.clock && first.clock->covers(second.point, open))) return;
  if (!open) return add_race(first, second, block);
  if (undecided_.size() >= most_undecided) settle(false);
  if (undecided_.size() >= most_undecided) {
    report_.add_limit(
        fmt::format("more than {} pairs of operations depend on values that were not written yet", most_undecided));
    return;
  }
  undecided_.push_back({first, second, first.clock ? *first.clock : Clock(), clock,
                        Block{.begin = block.begin, .end = block.end, .made = block.made, .name = block.name}});
}

void Accesses::add_race(const Access& first, const Access& second, const Block& block) {
  if (!report_.has_told(first, second)) report_.add(Fault::race, first, second, block, streams_.early_wait(first, second));
}

void Accesses::settle(bool is_exit) {
  std::erase_if(undecided_, [&](const UndecidedPair& doubt) {
    bool open = false;
    if (is_exit) {
      doubt.first_clock.assume_ended();
      doubt.second_clock.assume_ended();
    }
    if (doubt.second_clock.covers(doubt.first.point, open) || doubt.first_clock.covers(doubt.second.point, open))
      return true;
    if (!open) add_race(doubt.first, doubt.second, doubt.block);
    return !open || is_exit;
  });
}

}  // namespace weir::race
