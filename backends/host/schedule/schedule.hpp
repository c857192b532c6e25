// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "backends/host/schedule/schedule_order.hpp"

/// Runs work in legal but unusual orders, which a seed selects: WEIR_SCHEDULE.
namespace weir::host {

/// Chooses which of the ready streams runs its next operation. The choices depend only on the seed.
class Schedule {
 public:
  /// Returns the schedule that WEIR_SCHEDULE selects; null if the variable is not set. Throws `invalid_environment`.
  static std::unique_ptr<Schedule> from_environment();

  /// Removes the next item from `ready`, which is not empty, and returns it.
  Runnable* take(RunList& ready) noexcept;
  ScheduleOrder& order() noexcept { return order_; }
  const ScheduleOrder& order() const noexcept { return order_; }

 private:
  explicit Schedule(std::uint64_t seed) : lot_(seed) {}
  void draw_changes(std::size_t count);
  Runnable* take_by_lot(RunList& ready) noexcept;
  Runnable* take_by_priority(RunList& ready) noexcept;

  ScheduleOrder order_;
  std::mt19937_64 lot_;
  std::uint64_t items_seen_ = 0;
  bool by_priority_ = false;
  /// If the schedule uses priorities: the steps at which the next item gets a priority below all drawn ones. The index in
  /// this list is that priority.
  std::vector<std::uint64_t> changes_;
  std::uint64_t step_ = 0;
};

}  // namespace weir::host
