// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

/// Vector clocks: which operations happen before which.
namespace weir::race {

/// A point of a lane. Each stream is a lane, and the host is lane 0. A lane's operations are numbered from 1.
struct Point {
  std::uint32_t lane = 0;
  std::uint64_t number = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

class Clock;

/// A stream's wait for a value. `before`: the clock of the write that ends the wait; null until that write is known.
/// `maybe`: the joined clocks of the copies and kernels that write unknown values there; null if there are none, or if other
/// code may have written.
struct ValueWait {
  std::unique_ptr<Clock> before, maybe;
};

/// A vector clock: the events known to happen before an operation. It contains, for each lane, all operations up to a
/// number, and the operation's waits for values. Each wait adds the clock of the write that ends it.
class Clock {
 public:
  std::uint64_t at(std::uint32_t lane) const noexcept { return lane < numbers_.size() ? numbers_[lane] : 0; }
  /// Returns the next point of the lane.
  Point advance(std::uint32_t lane) {
    if (lane >= numbers_.size()) numbers_.resize(lane + 1);
    return {lane, ++numbers_[lane]};
  }
  void join(const Clock& other) {
    if (&other == this) return;
    join_numbers(other);
    std::vector<std::shared_ptr<ValueWait>> open, all;
    for (const auto& wait : other.waits_) {
      if (wait->before) {
        wait->before->settle();
        join(*wait->before);
      } else {
        open.push_back(wait);
      }
    }
    if (open.empty()) return;
    std::set_union(waits_.begin(), waits_.end(), open.begin(), open.end(), std::back_inserter(all));
    waits_ = std::move(all);
  }
  /// Joins the clocks of the waits whose writes have become known.
  void settle() {
    for (std::size_t i = 0; i < waits_.size();) {
      if (!waits_[i]->before) {
        ++i;
        continue;
      }
      const std::shared_ptr<ValueWait> ended = waits_[i];
      waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(i));
      ended->before->settle();
      join(*ended->before);
    }
  }
  /// Assumes for each open wait that one of the writes in `maybe` has ended it.
  void assume_ended() const {
    for (const auto& wait : open_waits()) {
      if (!wait->maybe || wait->before) continue;
      const auto inner = wait->maybe->open_waits();
      if (std::find(inner.begin(), inner.end(), wait) == inner.end()) wait->before = std::make_unique<Clock>(*wait->maybe);
    }
  }
  /// Joins only the numbers, not the waits.
  void join_numbers(const Clock& other) {
    if (other.numbers_.size() > numbers_.size()) numbers_.resize(other.numbers_.size());
    for (std::size_t i = 0; i < other.numbers_.size(); ++i) numbers_[i] = std::max(numbers_[i], other.numbers_[i]);
  }
  /// Whether everything that happens before `other` also happens before this clock, and `other` has no open wait.
  bool includes(const Clock& other) const noexcept {
    for (std::size_t i = 0; i < other.numbers_.size(); ++i) {
      if (other.numbers_[i] > at(static_cast<std::uint32_t>(i))) return false;
    }
    return other.waits_.empty();
  }
  void add(std::shared_ptr<ValueWait> wait) {
    const auto at = std::lower_bound(waits_.begin(), waits_.end(), wait);
    if (at == waits_.end() || *at != wait) waits_.insert(at, std::move(wait));
  }
  /// Whether the point is known to happen before this clock. Sets `open` if an open wait may still order it.
  bool covers(const Point& point, bool& open) const {
    if (point.number <= at(point.lane)) return true;
    for (const auto& wait : waits_) {
      if (!wait->before) {
        open = true;
        continue;
      }
      wait->before->settle();  // otherwise the number of paths explodes if streams wait for each other in turn
      if (wait->before->covers(point, open)) return true;
    }
    return false;
  }
  /// Whether the clock depends on waits whose writes are not known yet.
  bool is_open() const {
    return std::any_of(waits_.begin(), waits_.end(), [](const auto& wait) {
      if (!wait->before) return true;
      wait->before->settle();
      return wait->before->is_open();
    });
  }
  /// Returns the open waits, including the open waits in the clocks of ended ones.
  std::vector<std::shared_ptr<ValueWait>> open_waits() const {
    std::vector<std::shared_ptr<ValueWait>> result;
    for (const auto& wait : waits_) {
      if (!wait->before) {
        result.push_back(wait);
      } else {
        wait->before->settle();
        for (auto& inner : wait->before->open_waits()) result.push_back(std::move(inner));
      }
    }
    return result;
  }

 private:
  friend Clock common(Clock a, Clock b);

  std::vector<std::uint64_t> numbers_;
  std::vector<std::shared_ptr<ValueWait>> waits_;  // sorted by address
};

/// Returns the events that happen before both clocks. Used if either of two writes may have ended a wait. If a wait is open
/// in either clock, the result has a wait that never ends.
inline Clock common(Clock a, Clock b) {
  a.settle();
  b.settle();
  const bool open = a.is_open() || b.is_open();
  Clock result;
  result.numbers_.resize(std::min(a.numbers_.size(), b.numbers_.size()));
  for (std::size_t i = 0; i < result.numbers_.size(); ++i) result.numbers_[i] = std::min(a.numbers_[i], b.numbers_[i]);
  if (open) result.add(std::make_shared<ValueWait>());
  return result;
}

}  // namespace weir::race
