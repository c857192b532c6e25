// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

/// `Timeout`: the maximum time that a call waits.
namespace weir {

/// A duration that is converted from any unit, for function parameters. A duration that nanoseconds cannot represent, such
/// as `std::chrono::hours::max()`, becomes the longest possible one: 292 years.
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
  /// The duration in nanoseconds; 0 for a negative duration.
  constexpr std::chrono::nanoseconds nanoseconds() const noexcept { return timeout_; }

 private:
  std::chrono::nanoseconds timeout_{0};
};

}  // namespace weir
