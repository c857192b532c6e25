// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

/// Measures launches of a kernel, to plan the number of threads for its next launches.
namespace weir::host {

/// The time that one step of a loop takes, measured in the loop's last runs.
class StepTime {
 public:
  using Clock = std::chrono::steady_clock;
  /// The cost of each additional thread. It follows that a loop that takes time t on one thread is fastest with sqrt(t /
  /// call) threads.
  static constexpr std::chrono::nanoseconds call{250};
  /// How long the steps that a thread takes at once should run. Taking steps and reading the clock then cost little in
  /// comparison.
  static constexpr std::chrono::nanoseconds take{1000};

  struct Plan {
    std::uint32_t threads;        ///< number of threads for which the gain exceeds the cost
    std::uint64_t steps_at_once;  ///< number of steps that a thread takes first
  };
  /// Plans a loop of `count` steps on at most `threads` threads. If no loop has run yet, the plan is all threads, and few
  /// steps at once.
  Plan plan(std::uint64_t count, std::uint32_t threads) const noexcept {
    const float step_ns = step_ns_.load(std::memory_order_relaxed);
    const float worth = std::sqrt(static_cast<float>(count) * step_ns / static_cast<float>(call.count()));
    return {worth >= static_cast<float>(threads) ? threads : std::max(1U, static_cast<std::uint32_t>(worth)),
            static_cast<std::uint64_t>(static_cast<float>(take.count()) / step_ns)};
  }
  /// Stores the result of a loop. Keeps the shortest time, because threads may have waited for memory of other processors;
  /// but only for a while, because the steps of later loops may take longer. `late`: the loop took much longer than planned,
  /// so this time replaces the stored one.
  void learn(std::chrono::nanoseconds time, std::uint64_t steps, bool late) noexcept {
    constexpr float growth = 1.05F;
    constexpr float least_ns = 1e-3F;
    const float measured = std::max(static_cast<float>(time.count()) / static_cast<float>(steps), least_ns);
    const float most = late ? measured : step_ns_.load(std::memory_order_relaxed) * growth;
    step_ns_.store(std::min(measured, most), std::memory_order_relaxed);
  }

 private:
  std::atomic<float> step_ns_{std::numeric_limits<float>::infinity()};
};

inline constexpr std::uint32_t all_workers = ~0U;

}  // namespace weir::host
