// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

/// Which operations happen before which, as vector clocks.
namespace weir::race {

/// A point of a lane: a stream's, or the host's, which is lane 0. The operations of a lane are numbered from 1.
struct Point {
  std::uint32_t lane = 0;
  std::uint64_t number = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

class Clock;

/// A stream's wait for a value. `before`: the clock of the write that ends it, once that is known. `maybe`: what comes
/// before any of the copies and kernels that write there, whose values are not known; null if there is none, or if something
/// else may have written.
struct ValueWait {
  std::unique_ptr<Clock> before, maybe;
};

/// What is known to happen before an operation: for each lane its operations up to a number, and waits for values, each of
/// which adds the clock of the write that ends it.
class Clock {
 public:
  std::uint64_t at(std::uint32_t lane) const noexcept { return lane < numbers_.size() ? numbers_[lane] : 0; }
  /// The next point of that lane.
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
  /// Joins the clocks of the waits whose writes are known by now.
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
  /// Takes, for each open wait, that one of those writes has ended it.
  void assume_ended() const {
    for (const auto& wait : open_waits()) {
      if (!wait->maybe || wait->before) continue;
      const auto inner = wait->maybe->open_waits();
      if (std::find(inner.begin(), inner.end(), wait) == inner.end()) wait->before = std::make_unique<Clock>(*wait->maybe);
    }
  }
  /// Joins the numbers alone, not the waits.
  void join_numbers(const Clock& other) {
    if (other.numbers_.size() > numbers_.size()) numbers_.resize(other.numbers_.size());
    for (std::size_t i = 0; i < other.numbers_.size(); ++i) numbers_[i] = std::max(numbers_[i], other.numbers_[i]);
  }
  /// Whether all that happens before the other, happens before this, and the other waits for nothing.
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
  /// Whether that point happens before, as far as is known. Sets `open` if an open wait may still order it.
  bool covers(const Point& point, bool& open) const {
    if (point.number <= at(point.lane)) return true;
    for (const auto& wait : waits_) {
      if (!wait->before) {
        open = true;
        continue;
      }
      wait->before->settle();  // else streams that wait for each other in turn make paths multiply
      if (wait->before->covers(point, open)) return true;
    }
    return false;
  }
  /// Whether it depends on waits whose writes are not known yet.
  bool is_open() const {
    return std::any_of(waits_.begin(), waits_.end(), [](const auto& wait) {
      if (!wait->before) return true;
      wait->before->settle();
      return wait->before->is_open();
    });
  }
  /// The open waits, those of joined clocks included.
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
  std::vector<std::shared_ptr<ValueWait>> waits_;  // in order of addresses
};

/// What comes before both of two points, of which only one counts, and it is not known which. If a wait is open in either,
/// the result has a wait that never ends.
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
