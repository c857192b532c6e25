// SPDX-License-Identifier: Apache-2.0
#include "backends/host/schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

constexpr std::uint64_t most_seeds = std::uint64_t{1} << 62U, most_depth = 64, usual_depth = 3;

/// Parses a whole number from 1 to `most`; returns 0 for any other text.
std::uint64_t number(std::string_view text, std::uint64_t most) noexcept {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && value <= most ? value : 0;
}

/// The mixing function of SplitMix64: each bit of the result depends on all bits of `x`.
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

std::unique_ptr<Schedule> Schedule::from_environment() {
  const std::optional<std::string> value = support::environment("WEIR_SCHEDULE");
  if (!value) return nullptr;
  std::string_view text = std::string_view(*value).substr(0, value->find(','));
  const std::string_view order = std::string_view(*value).substr(text.size());
  const bool by_priority = text.starts_with("pct:");
  std::uint64_t depth = usual_depth;
  if (by_priority) {
    text.remove_prefix(4);
    if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
      depth = number(text.substr(colon + 1), most_depth);
      text = text.substr(0, colon);
    }
  }
  const std::uint64_t seed = number(text, most_seeds);
  std::unique_ptr<Schedule> schedule(new Schedule(seed));
  if (seed == 0 || depth == 0 || !schedule->order_.read(order)) {
    throw Error(Errc::invalid_environment, fmt::format("reading WEIR_SCHEDULE='{}'", *value), "",
                fmt::format("it is not SEED, pct:SEED or pct:SEED:DEPTH; a seed is a whole number from 1 to {}, a depth "
                            "from 1 to {}; ',hold=OPERATION,until=OPERATION' may follow, with operations as 'weir race "
                            "--witness' names them: set it to such a schedule, or unset it",
                            most_seeds, most_depth));
  }
  schedule->by_priority_ = by_priority;
  if (by_priority) schedule->draw_changes(depth - 1);
  return schedule;
}

/// Draws the steps at which priorities change. The number of operations is not known in advance, so the range of these steps
/// is drawn first: the first 4, 8, … or 8192 operations.
void Schedule::draw_changes(std::size_t count) {
  const std::uint64_t steps = std::uint64_t{4} << lot_() % 12;
  for (std::size_t i = 0; i < count; ++i) changes_.push_back(1 + lot_() % steps);
}

Runnable* Schedule::take(RunList& ready) noexcept {
  if (Runnable* const preferred = order_.preferred()) {
    std::size_t before = 0;
    for (Runnable* item = ready.first(); item != nullptr; item = SchedulePolicy::next_of(*item), ++before) {
      if (item == preferred) return ready.take(before);
    }
  }
  return by_priority_ ? take_by_priority(ready) : take_by_lot(ready);
}

/// Draws the next item. Each draw combines its own number with the item's age in a hash, so the result does not depend on
/// the order of the list. That order depends on chance: a stream that gets more work just when it runs out joins the list at
/// a random time.
Runnable* Schedule::take_by_lot(RunList& ready) noexcept {
  const std::uint64_t draw = lot_();
  std::uint64_t highest = 0;
  std::size_t before = 0, i = 0;
  for (Runnable* item = ready.first(); item != nullptr; item = SchedulePolicy::next_of(*item), ++i) {
    if (SchedulePolicy::priority_of(*item) == 0) SchedulePolicy::priority_of(*item) = ++items_seen_;
    const std::uint64_t lot = mixed(draw ^ mixed(SchedulePolicy::priority_of(*item)));
    if (i != 0 && lot <= highest) continue;
    highest = lot;
    before = i;
  }
  return ready.take(before);
}

Runnable* Schedule::take_by_priority(RunList& ready) noexcept {
  for (;;) {
    Runnable* highest = nullptr;
    std::size_t before = 0, i = 0;
    for (Runnable* item = ready.first(); item != nullptr; item = SchedulePolicy::next_of(*item), ++i) {
      if (SchedulePolicy::priority_of(*item) == 0)
        // Higher than all priorities that changes set.
        SchedulePolicy::priority_of(*item) = lot_() | std::uint64_t{1} << 63U;
      if (highest != nullptr && SchedulePolicy::priority_of(*item) <= SchedulePolicy::priority_of(*highest)) continue;
      highest = item;
      before = i;
    }
    ++step_;
    const auto change = std::find(changes_.begin(), changes_.end(), step_);
    if (change == changes_.end()) return ready.take(before);
    SchedulePolicy::priority_of(*highest) = static_cast<std::uint64_t>(change - changes_.begin()) + 1;
  }
}

}  // namespace weir::host
