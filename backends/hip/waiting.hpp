// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <thread>

/// Waits for a stream or an event by polling, because HIP's own waits hold a lock that other threads need.
namespace weir::hip {

/// The waiting thread's behaviour between two queries.
enum class PollPolicy {
  automatic,  ///< yields for 2 ms, then sleeps
  spinning,   ///< queries again at once
  yielding,   ///< yields its processor
  sleeping,   ///< sleeps
};

template <class Query>
hipError_t wait_by_polling(Query&& query, PollPolicy policy) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  auto nap = 20us;
  for (;;) {
    const hipError_t result = query();
    if (result != hipErrorNotReady) return result;
    if (policy == PollPolicy::spinning) continue;
    if (policy == PollPolicy::yielding || (policy == PollPolicy::automatic && Clock::now() - begin < 2ms)) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min<std::chrono::microseconds>(nap * 2, 200us);
  }
}

}  // namespace weir::hip
