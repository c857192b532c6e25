// SPDX-License-Identifier: Apache-2.0
#include "tools/race/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace weir::race {
namespace {

// Limits for one value: on writes, and on waits that no known write ends. Clocks hold references to all of these.
constexpr std::size_t most_writes = 4096, most_waiters = 1024;

bool meets(std::uint64_t now, const MemoryOperation& wait) noexcept {
  const std::uint64_t mask = wait.is_64() ? ~std::uint64_t{0} : 0xFFFFFFFFU;
  switch (wait.condition) {
    case WaitCondition::geq:
      return wait.is_64() ? static_cast<std::int64_t>(now - wait.value) >= 0
                          : static_cast<std::int32_t>(static_cast<std::uint32_t>(now - wait.value)) >= 0;
    case WaitCondition::eq: return ((now ^ wait.value) & mask) == 0;
    case WaitCondition::bit_and: return (now & wait.value & mask) != 0;
    case WaitCondition::bit_nor: return (~(now | wait.value) & mask) != 0;
  }
  return false;
}

}  // namespace

bool Values::operate(const MemoryOperation& operation, const Point& point, Clock& clock, Report& report) {
  if (operation.is_wait()) return wait(operation, point, clock, report);
  if (operation.is_write()) write(operation, point, clock, report);
  return true;
}

void Values::write(const MemoryOperation& operation, const Point& point, const Clock& clock, Report& report) {
  Value& value = values_[operation.address];
  if (value.unknown && clock.includes(*value.unknown)) value.unknown.reset();
  Writes& writes = value.writes[point.lane];
  if (writes.list.size() >= most_writes) {
    writes.list.pop_front();
    writes.has_forgotten = true;
  }
  writes.list.push_back({operation.value, point, clock});
  if (value.endless && !value.endless->before) {
    report.add_limit(fmt::format(
        "more than {} waits for the value at {} were open, so the writes that end further waits were not determined",
        most_waiters, operation.address));
  }
  const auto own = clock.open_waits();
  std::erase_if(value.waiters, [&](Waiter& waiter) {
    std::unique_ptr<Clock>& before = waiter.result->before;
    bool open = false;
    // The host has ended this wait, or it ended long ago.
    if (before && (waiter.ended_by == Point{} || clock.covers(waiter.point, open))) return true;
    if (!meets(operation.value, waiter.wait)) return false;
    if (!before) {
      if (std::find(own.begin(), own.end(), waiter.result) != own.end()) return false;  // the write comes after the wait
      before = std::make_unique<Clock>(clock);
      waiter.ended_by = point;
    } else if (!clock.covers(waiter.ended_by, open)) {  // either of the two writes may have ended the wait
      before = std::make_unique<Clock>(common(*before, clock));
    }
    return false;
  });
}

/// Returns the writes that may have ended the wait, at most one for each lane. `clock`: the events before the wait.
std::vector<const Values::Write*> Values::ends_of(const MemoryOperation& operation, Value& value, const Clock& clock,
                                                  Report& report) {
  const auto first_behind = [](std::deque<Write>& list, std::uint64_t number) {
    return std::upper_bound(list.begin(), list.end(), number,
                            [](std::uint64_t last, const Write& write) { return last < write.point.number; });
  };
  // For each lane, the last write that certainly comes before the wait. It has overwritten the earlier ones.
  std::vector<Write*> known;
  for (auto& [lane, writes] : value.writes) {
    const auto behind = first_behind(writes.list, clock.at(lane));
    if (behind == writes.list.begin()) continue;
    known.push_back(&*std::prev(behind));
    known.back()->clock.settle();
  }
  // For each lane, the first write that may end the wait. Everything before that write is also before the lane's later
  // writes.
  std::vector<const Write*> ends;
  for (auto& [lane, writes] : value.writes) {
    auto write = writes.list.begin();
    bool is_first_known = !writes.has_forgotten;
    for (Write* const last : known) {
      const auto from = last->point.lane == lane ? std::prev(first_behind(writes.list, last->point.number))
                                                 : first_behind(writes.list, last->clock.at(lane));
      if (from < write) continue;
      write = from;
      is_first_known = is_first_known || last->point.lane == lane || from != writes.list.begin();
    }
    write = std::find_if(write, writes.list.end(), [&](const Write& each) { return meets(each.value, operation); });
    if (write == writes.list.end()) continue;
    if (!is_first_known && write == writes.list.begin()) {
      report.add_limit(
          fmt::format("a wait for the value at {} may end by a write that is older than the last {} writes of a stream, "
                      "which are stored",
                      operation.address, most_writes));
    }
    ends.push_back(&*write);
  }
  for (auto write = ends.begin(); write != ends.end();) {  // also keep only the first if writes of two lanes are ordered
    const bool is_later = std::any_of(ends.begin(), ends.end(), [&](const Write* other) {
      bool open = false;
      return other != *write && (*write)->clock.covers(other->point, open);
    });
    write = is_later ? ends.erase(write) : std::next(write);
  }
  return ends;
}

bool Values::wait(const MemoryOperation& operation, const Point& point, Clock& clock, Report& report) {
  Value& value = values_[operation.address];
  clock.settle();
  if (const std::vector<const Write*> ends = ends_of(operation, value, clock, report); !ends.empty()) {
    Clock before = ends.front()->clock;
    for (std::size_t i = 1; i < ends.size(); ++i) before = common(std::move(before), ends[i]->clock);
    clock.join(before);
    return true;
  }
  auto result = std::make_shared<ValueWait>();
  if (value.unknown) result->maybe = std::make_unique<Clock>(*value.unknown);
  std::vector<Waiter>& waiters = value.waiters;
  if (waiters.size() >= most_waiters)
    std::erase_if(waiters, [](const Waiter& each) { return each.result->before != nullptr; });
  if (waiters.size() < most_waiters) {
    waiters.push_back({operation, point, result});
  } else {  // probably the host or a kernel ends such waits
    if (!value.endless || value.endless->before) value.endless = std::move(result);
    result = value.endless;
  }
  clock.add(std::move(result));
  return false;
}

void Values::overwrite(const SmallWrite& by, bool is_of_device, Report& report) {
  constexpr std::uintptr_t widest = sizeof(std::uint64_t);
  const Region& region = by.region;
  auto next = values_.lower_bound(reinterpret_cast<const void*>(region.begin - std::min(region.begin, widest - 1)));
  while (next != values_.end() && model::number_of(next->first) < region.end()) {
    const auto [address, value] = std::tie(next->first, next->second);
    const std::uintptr_t begin = model::number_of(address);
    if (!by.element.empty() && begin >= region.begin && region.end() - begin >= sizeof(std::uint32_t)) {
      std::uint64_t filled = 0;
      auto* const bytes = reinterpret_cast<std::byte*>(&filled);
      for (std::size_t i = 0; i < std::min(widest, region.end() - begin); ++i)
        bytes[i] = by.element[(begin - region.begin + i) % by.element.size()];
      write(MemoryOperation::write(static_cast<std::uint64_t*>(const_cast<void*>(address)), filled), by.point, by.clock,
            report);
      ++next;
      continue;
    }
    value.writes.clear();
    const auto join = [&](std::unique_ptr<Clock>& clock) {
      if (!clock) clock = std::make_unique<Clock>();
      clock->join(by.clock);
    };
    if (!is_of_device) {
      value.unknown.reset();
    } else {
      join(value.unknown);
      const auto own = by.clock.open_waits();
      for (const Waiter& waiter : value.waiters) {
        if (!waiter.result->before && std::find(own.begin(), own.end(), waiter.result) == own.end())
          join(waiter.result->maybe);
      }
    }
    next = value.waiters.empty() && !value.endless && !value.unknown ? values_.erase(next) : std::next(next);
  }
}

bool Values::is_open(const MemoryOperation& wait) const {
  const auto value = values_.find(wait.address);
  return value != values_.end() &&
         std::any_of(value->second.waiters.begin(), value->second.waiters.end(), [&](const Waiter& waiter) {
           return !waiter.result->before && waiter.wait.value == wait.value && waiter.wait.condition == wait.condition;
         });
}

}  // namespace weir::race
