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

/// The pairs of operations that race, under the names by which WEIR_SCHEDULE knows them: for `weir race --witness`.
namespace weir::race {

class Pairs {
 public:
  /// The file that gets a line of JSON for each pair as soon as its names are known, and one if the program uses memory of
  /// other code; empty: nothing is done.
  explicit Pairs(std::string file) : file_(std::move(file)) {}
  bool are_wanted() const noexcept { return !file_.empty(); }

  /// For each operation, before and after.
  void begin(const Operation& operation);
  void end(const Operation& operation);
  /// A graph was launched that has these operations.
  void launch(std::uint64_t launch, const std::set<std::uint64_t>& operations);
  void add(const Access& first, const Access& second, nlohmann::ordered_json report);
  /// Writes those whose names stayed unknown.
  void finish();

 private:
  /// Operations of a stream, by number: one, or several for one call.
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
  /// "2.5", "2.7/0", "host"; nothing if it is not known. `last`: of several.
  std::string name_of(const Side& side, bool last) const;
  void write_named(bool is_end);

  std::string file_;
  std::map<std::uint64_t, Name> names_;             // of operations; while one is under way: what came before it
  std::map<std::uint64_t, std::uint32_t> nodes_;    // of captured operations
  std::map<std::uint64_t, std::uint64_t> callers_;  // of accesses in host functions: the operation of that function
  std::vector<Pair> unnamed_;
};

}  // namespace weir::race
