// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/race/memory.hpp"
#include "weir/plugin/operation.hpp"

/// The pairs of operations that race, under their names in WEIR_SCHEDULE, for `weir race --witness`.
namespace weir::race {

class Pairs {
 public:
  /// `file`: receives a line of JSON for each pair as soon as the names are known, and one line if the program uses memory
  /// of other code. If it is empty, nothing is recorded.
  explicit Pairs(std::string file) : file_(std::move(file)) {}
  bool are_wanted() const noexcept { return !file_.empty(); }

  /// Call `begin` before each operation and `end` after it.
  void begin(const Operation& operation);
  void end(const Operation& operation);
  /// Records the launch of a graph that contains these operations.
  void launch(std::uint64_t launch, const std::set<std::uint64_t>& operations);
  void add(const Access& first, const Access& second, nlohmann::ordered_json report);
  /// Writes the pairs whose names are still unknown.
  void finish();

 private:
  /// The numbers of the stream operations that one call made.
  struct Name {
    std::uint64_t stream = 0, first = 0, last = 0;
  };
  struct Side {
    bool is_host = false;
    std::uint64_t operation = 0, launch = 0;
    std::optional<std::uint32_t> node;
  };
  struct Pair {
    Side sides[2];
    nlohmann::ordered_json report;
  };

  static Side side_of(const Access& access);
  /// Returns the name of a side: "2.5", "2.7/0" or "host"; empty if it is not known. `last`: use the last of the call's
  /// operations instead of the first.
  std::string name_of(const Side& side, bool last) const;
  void write_named(bool is_end);

  std::string file_;
  std::map<std::uint64_t, Name> names_;             // by operation; `last` is set after the operation
  std::map<std::uint64_t, std::uint32_t> nodes_;    // by captured operation: the index of its node
  std::map<std::uint64_t, std::uint64_t> callers_;  // by access in a host function: the function's operation
  std::vector<Pair> unnamed_;
};

}  // namespace weir::race
