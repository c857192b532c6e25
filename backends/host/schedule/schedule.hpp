// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "backends/host/schedule/schedule_order.hpp"

/// Schedules that are legal but unusual, by a seed: WEIR_SCHEDULE.
namespace weir::host {

/// Which of the streams that may run is next, one operation at a time. What it draws depends on the seed alone.
class Schedule {
 public:
  /// What WEIR_SCHEDULE asks for; null if it is not set. Throws `invalid_environment`.
  static std::unique_ptr<Schedule> from_environment();

  /// Takes what runs next out of `ready`, which is not empty.
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
  /// With priorities: the steps at which what would run gets a priority below all that were drawn, which is its place here.
  std::vector<std::uint64_t> changes_;
  std::uint64_t step_ = 0;
};

}  // namespace weir::host
