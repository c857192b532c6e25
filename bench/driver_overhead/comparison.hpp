// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

/// Pairs of benchmarks, one that goes through Weir and one that calls the driver, run in turns and compared by their
/// medians.
namespace weir::bench {

/// How much more than the raw call Weir's may cost: the larger of a share of the raw time and a fixed time.
struct Limit {
  double ratio = 1.05;
  double extra_ns = 15;
};

class Comparison {
 public:
  /// One operation. `iterations` are timed together, few enough for the device's queues to take them without blocking the
  /// host; `drain` then empties the queues, untimed.
  struct Pair {
    std::string name;
    Limit limit;
    std::function<void()> weir;
    std::function<void()> raw;
    std::function<void()> drain;
    int iterations = 400;
    /// What both sides are timed between, untimed itself: `before` and `after`.
    std::function<void()> before = {};
    std::function<void()> after = {};
  };

  void add(Pair pair) { pairs_.push_back(std::move(pair)); }
  const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  /// Runs all and prints a table: Weir, raw, difference, ratio, within the limit or not. Returns how many are not.
  int run(int argc, char** argv);

 private:
  std::vector<Pair> pairs_;
};

}  // namespace weir::bench
