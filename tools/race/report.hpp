// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file_descriptor.hpp"
#include "tools/race/memory.hpp"
#include "tools/race/pairs.hpp"

/// Reports of races.
namespace weir::race {

struct Options {
  std::string json;   ///< the file for the reports; empty: none
  std::string tally;  ///< file shared by `weir run`'s processes: each writes 0, then `status` at each race; or empty
  std::string pairs;  ///< the file for the pairs, for `weir race` and `weir shake`; empty: none
  std::vector<std::string> suppressions;
  int status = 66;  ///< the program's exit status after a race; 0: unchanged
};

/// Reads WEIR_RACE: "json=FILE,suppressions=FILE,status=NUMBER,tally=FILE". Throws `invalid_environment`.
Options read_options();

enum class Fault : std::uint8_t { race, use_after_free };

/// Reports each pair of places in the program once, on standard error and in a file. Not thread-safe.
class Report {
 public:
  explicit Report(Options options);

  bool has_told(const Access& first, const Access& second) const {
    return told_.contains({first.step->place, second.step->place});
  }
  /// `note`: an additional remark, or empty.
  void add(Fault fault, const Access& first, const Access& second, const Block& block, const std::string& note);
  /// Reports that data was dropped, so that a race may have been missed. Each text is reported once.
  void add_limit(const std::string& what);
  Pairs& pairs() noexcept { return pairs_; }
  /// Completes the files. `operations`: the number of operations checked. Returns the exit status, or 0.
  int finish(std::uint64_t operations) noexcept;

 private:
  bool is_suppressed(const Access& access, const std::vector<model::Frame>& frames) const;

  /// Writes the JSON file anew, so that a process that ends by a signal or by `_exit` leaves valid JSON. A pipe gets it only
  /// at the end.
  void write(bool is_end);
  void give_up() noexcept;

  Options options_;
  detail::FileDescriptor file_;  // of the JSON; none if it is not wanted, or could not be written
  nlohmann::ordered_json reports_ = nlohmann::ordered_json::array();
  Pairs pairs_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;  // pairs of places (`Step::place`)
  std::set<std::string> limits_;
  std::size_t count_ = 0, suppressed_ = 0;
};

}  // namespace weir::race
