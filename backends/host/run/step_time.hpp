// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

/// Measurements of a kernel's launches, used for the next ones.
namespace weir::host {

/// The time for a step of a loop, measured on its last runs.
class StepTime {
 public:
  using Clock = std::chrono::steady_clock;
  /// The cost of each further thread. A loop of time t is therefore fastest with sqrt(t / call) threads.
  static constexpr std::chrono::nanoseconds call{250};
  /// The work that a thread takes at once: enough to make taking it and reading the clock cheap in comparison.
  static constexpr std::chrono::nanoseconds take{1000};

  struct Plan {
    std::uint32_t threads;        ///< how many threads pay off
    std::uint64_t steps_at_once;  ///< how many steps a thread takes first
  };
  /// Plans a loop of `count` steps and at most `threads` threads. If no loop has run yet: all threads, and few steps at a
  /// time.
  Plan plan(std::uint64_t count, std::uint32_t threads) const noexcept {
    const float step_ns = step_ns_.load(std::memory_order_relaxed);
    const float worth = std::sqrt(static_cast<float>(count) * step_ns / static_cast<float>(call.count()));
    return {worth >= static_cast<float>(threads) ? threads : std::max(1U, static_cast<std::uint32_t>(worth)),
            static_cast<std::uint64_t>(static_cast<float>(take.count()) / step_ns)};
  }
  /// Keeps the shortest time, but only for a while: threads of a loop may wait for other processors' memory, and later loops
  /// may have longer steps. `late`: the loop took much longer than planned, so this time replaces the old one.
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
