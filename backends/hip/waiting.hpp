// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <thread>

/// Waiting for a stream or an event by asking, where HIP's own waiting holds a lock that other threads need.
namespace weir::hip {

/// How long a thread asks again at once before it makes way for others, and then sleeps between two questions.
enum class Patience { spinning, sleeping };

template <class Query>
hipError_t wait_by_asking(Query&& query, Patience patience) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  // Most waits are short; a thread that is to sleep begins to at once, others when the wait has lasted longer than a
  // scheduler's time slice.
  const auto begin = Clock::now();
  const auto spin = patience == Patience::spinning ? 2ms : 20us;
  auto nap = 20us;
  for (;;) {
    const hipError_t result = query();
    if (result != hipErrorNotReady) return result;
    if (Clock::now() - begin < spin) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min<std::chrono::microseconds>(nap * 2, 200us);
  }
}

}  // namespace weir::hip
