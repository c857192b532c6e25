// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

/// Compares pairs of benchmarks by their medians: one calls through Weir, the other calls the driver. They run in turns.
namespace weir::bench {

/// The allowed overhead over the raw call: the larger of a share of the raw time and a fixed time.
struct Limit {
  double ratio = 1.05;
  double extra_ns = 15;
};

class Comparison {
 public:
  /// One operation. `iterations` are timed together, few enough that the device's queues do not block the host; `drain` then
  /// empties the queues, untimed.
  struct Pair {
    std::string name;
    Limit limit;
    std::function<void()> weir;
    std::function<void()> raw;
    std::function<void()> drain;
    int iterations = 400;
    /// Untimed code around both sides.
    std::function<void()> before = {};
    std::function<void()> after = {};
  };

  void add(Pair pair) { pairs_.push_back(std::move(pair)); }
  const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  /// Runs all pairs and prints a table: Weir, raw, difference, ratio, and whether it is within the limit. Returns how many
  /// are not.
  int run(int argc, char** argv);

 private:
  std::vector<Pair> pairs_;
};

}  // namespace weir::bench
