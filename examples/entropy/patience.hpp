// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

/// A wait by polling.
namespace entropy {

/// Polls until `done()` returns true. Spins for a short time first, in case that is soon, then sleeps between polls.
template <class Predicate>
void wait_until(Predicate&& done) {
  for (int i = 0; i < 200; ++i) {
    if (done()) return;
    if (i >= 100) std::this_thread::yield();
  }
  while (!done()) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace entropy
