// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>

/// What is learnt from the launches of a kernel for the next ones.
namespace weir::host {

/// How long the steps of a loop take, as its last runs have shown.
class StepTime {
 public:
  using Clock = std::chrono::steady_clock;
  /// What each further thread costs a loop. So a loop of time t is over first with sqrt(t / call) threads.
  static constexpr std::chrono::nanoseconds call{250};
  /// How much work a thread takes at once: enough that taking it and reading the clock cost little beside it.
  static constexpr std::chrono::nanoseconds take{1000};

  struct Plan {
    std::uint32_t threads;        ///< how many threads the loop is worth
    std::uint64_t steps_at_once;  ///< how many steps a thread takes first
  };
  /// For a loop of so many steps and at most `threads` threads. All threads, and few steps, if no loop has run.
  Plan plan(std::uint64_t count, std::uint32_t threads) const noexcept {
    const float step_ns = step_ns_.load(std::memory_order_relaxed);
    const float worth = std::sqrt(static_cast<float>(count) * step_ns / static_cast<float>(call.count()));
    return {worth >= static_cast<float>(threads) ? threads : std::max(1U, static_cast<std::uint32_t>(worth)),
            static_cast<std::uint64_t>(static_cast<float>(take.count()) / step_ns)};
  }
  /// The shortest time counts, and for a while only: a thread that shares a loop may wait for memory of other processors,
  /// and the steps of the next loops may take longer. `late`: the loop took much longer than planned, so this time counts.
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
