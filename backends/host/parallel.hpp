// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "backends/host/scheduler.hpp"
#include "weir/ptr.hpp"

/// Loops that workers share without waiting for each other: the thread that finishes the last piece continues.
namespace weir::host {

/// Work in pieces that may run in any order and at once. Lives until the loop is done.
class Divisible {
 public:
  virtual void do_range(std::uint64_t first, std::uint64_t last) noexcept = 0;

 protected:
  virtual ~Divisible() = default;
};

/// How long the steps of a loop took when it last ran. To call a thread takes as long as a short loop, so a loop is shared
/// by as many threads as have so much to do.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::nanoseconds short_loop{1000};
  static constexpr std::chrono::nanoseconds short_piece{300};

  /// How many steps a piece has at least, so that handing it out costs little beside it. 0 if no loop has run.
  std::uint64_t least_steps() const noexcept {
    return static_cast<std::uint64_t>(static_cast<float>(short_piece.count()) / step_ns_.load(std::memory_order_relaxed));
  }
  /// How many threads a loop of so many steps is worth: one more for each time of a short loop that it is expected to take,
  /// at most `threads`. All of them if no loop has run.
  std::uint32_t threads_for(std::uint64_t count, std::uint32_t threads) const noexcept {
    const float wanted = static_cast<float>(count) * step_ns_.load(std::memory_order_relaxed) /
                         static_cast<float>(short_loop.count());
    return wanted >= static_cast<float>(threads - 1) ? threads : 1 + static_cast<std::uint32_t>(wanted);
  }
  void learn(std::chrono::nanoseconds time, std::uint64_t steps) noexcept {
    step_ns_.store(static_cast<float>(time.count()) / static_cast<float>(steps), std::memory_order_relaxed);
  }

 private:
  std::atomic<float> step_ns_{std::numeric_limits<float>::infinity()};
};

/// Runs `[0, count)` in pieces of about `piece`, on this thread, which must be a worker, and on others that are free. True
/// if all is done. False if other threads are still running pieces; the last of them resumes `continuation`. `pace`: of
/// loops like this one, or null.
bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation,
                  Pace* pace = nullptr) noexcept;

}  // namespace weir::host
