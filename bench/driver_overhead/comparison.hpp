// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

/// Compares pairs of benchmarks by their medians. One of a pair calls Weir, the other one calls the driver. They run in
/// turns.
namespace weir::bench {

/// The allowed time over the raw call: a share of the raw time or a fixed time, whichever is larger.
struct Limit {
  double ratio = 1.05;
  double extra_ns = 15;
};

class Comparison {
 public:
  /// One operation, by Weir and by the driver. `iterations` calls are timed together. They must be so few that the device's
  /// queues do not block the host. After each such batch, `drain` empties the queues, untimed.
  struct Pair {
    std::string name;
    Limit limit;
    std::function<void()> weir;
    std::function<void()> raw;
    std::function<void()> drain;
    int iterations = 400;
    /// Code that runs before and after each batch, untimed.
    std::function<void()> before = {};
    std::function<void()> after = {};
  };

  void add(Pair pair) { pairs_.push_back(std::move(pair)); }
  const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  /// Runs all pairs and prints a table: the times of Weir and the raw call, their difference and ratio, and whether they are
  /// within the limit. Returns the number of operations that are not.
  int run(int argc, char** argv);

 private:
  std::vector<Pair> pairs_;
};

}  // namespace weir::bench
