// SPDX-License-Identifier: Apache-2.0
#include "tools/timeline/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace weir::timeline {
namespace {

// Limit on stored changes of the number of busy streams. They accumulate while the work of another stream is pending.
constexpr std::size_t most_changes = 65536;
constexpr std::size_t most_waits = 3, most_streams = 10;

double milliseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

}  // namespace

void Usage::add_work(std::uint64_t track, std::uint64_t begin, std::uint64_t end) {
  Busy& stream = busy_[track];
  ++stream.operations;
  first_ = std::min(first_, begin);
  last_ = std::max(last_, end);
  begin = std::max(begin, stream.until);
  if (end <= begin) return;
  stream.time += end - begin;
  stream.until = end;
  begin = std::max(begin, since_);
  if (end <= begin) return;
  ++changes_[begin];
  --changes_[end];
  if (changes_.size() <= most_changes) return;
  is_least_ = true;
  advance(std::next(changes_.begin(), most_changes / 2)->first);
}

void Usage::advance(std::uint64_t time) {
  while (!changes_.empty() && changes_.begin()->first <= time) {
    const auto [at, change] = *changes_.begin();
    if (running_ >= 1) any_ += at - since_;
    if (running_ >= 2) several_ += at - since_;
    running_ += change;
    since_ = at;
    changes_.erase(changes_.begin());
  }
}

std::uint64_t Usage::known_until(std::uint64_t track) const noexcept {
  const auto found = busy_.find(track);
  return found != busy_.end() ? found->second.until : 0;
}

void Usage::add_wait(std::uint64_t track, const std::string& name, std::uint64_t nanoseconds) {
  const auto at = std::find_if(waits_.begin(), waits_.end(), [&](const Wait& w) { return w.nanoseconds < nanoseconds; });
  waits_.insert(at, {nanoseconds, track, name});
  if (waits_.size() > most_waits) waits_.pop_back();
}

std::string Usage::text(const std::function<std::string(std::uint64_t)>& name_of) {
  if (busy_.empty()) return "";
  advance(UINT64_MAX);
  const std::uint64_t all = std::max<std::uint64_t>(last_ - first_, 1);
  const auto percent = [&](std::uint64_t part) { return 100.0 * static_cast<double>(part) / static_cast<double>(all); };
  std::string text;
  std::vector<std::pair<std::uint64_t, Busy>> shown(
      std::min(busy_.size(), most_streams));  // the busiest streams, in the order of their tracks
  std::partial_sort_copy(busy_.begin(), busy_.end(), shown.begin(), shown.end(),
                         [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  std::sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [track, stream] : shown) {
    text += fmt::format("  {}: {} operations, busy {:.3f} ms, {:.0f} % of {:.3f} ms\n", name_of(track), stream.operations,
                        milliseconds(stream.time), percent(stream.time), milliseconds(all));
  }
  if (busy_.size() > shown.size()) text += fmt::format("  and {} less busy streams\n", busy_.size() - shown.size());
  text += fmt::format("  some stream busy {0}{1:.0f} % of the time, several at once {0}{2:.0f} %\n",
                      is_least_ ? "at least " : "", percent(any_), percent(several_));
  for (const Wait& wait : waits_) {
    text += fmt::format("  {} {} waited {:.3f} ms\n", name_of(wait.track), wait.name, milliseconds(wait.nanoseconds));
  }
  return text;
}

}  // namespace weir::timeline
