// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

/// How long a call may wait.
namespace weir {

/// A duration of any unit, as functions take it. One that nanoseconds cannot hold, as `std::chrono::hours::max()`, is the
/// longest that they can: 292 years.
class Timeout {
 public:
  template <class Rep, class Period>
  constexpr Timeout(std::chrono::duration<Rep, Period> timeout) noexcept {
    using Seconds = std::chrono::duration<long double>;
    const Seconds seconds(timeout);
    if (seconds > Seconds(std::chrono::nanoseconds::max()))
      timeout_ = std::chrono::nanoseconds::max();
    else if (seconds > Seconds::zero())
      timeout_ = std::chrono::duration_cast<std::chrono::nanoseconds>(timeout);
  }
  /// Zero for a negative duration.
  constexpr std::chrono::nanoseconds nanoseconds() const noexcept { return timeout_; }

 private:
  std::chrono::nanoseconds timeout_{0};
};

}  // namespace weir
