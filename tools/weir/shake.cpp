// SPDX-License-Identifier: Apache-2.0
#include "shake.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "../progress_line.hpp"
#include "race_pairs.hpp"
#include "runs.hpp"
#include "weir/error.hpp"
#include "weir/registry.hpp"

namespace weir::tool {
namespace {

/// For each pair of racing operations, counts the runs in each order, and the failed ones among them.
class RaceOrders {
 public:
  /// Runs the program once with the tool `race` to find the pairs.
  RaceOrders(const ShakeOptions& options, Run& run)
      : pairs_(find_races(options.command, "1", std::chrono::seconds(options.timeout), folder_, run)) {
    for (const RacePair& pair : pairs_) {
      for (const RaceSide* const side : {&pair.first, &pair.second}) {
        for (const std::string& name : {side->name, side->last}) {
          if (!name.empty() && !side->is_host()) watched_ += (watched_.empty() ? "" : "+") + name;
        }
      }
    }
    counts_.resize(pairs_.size());
  }

  /// Returns the part of WEIR_SCHEDULE that makes the host backend report the order of these pairs.
  std::string notes() const {
    return watched_.empty() ? "" : ",watch=" + watched_ + ",notes=" + (folder_ / "notes");
  }
  void count(bool failed, const std::string& schedule) {
    std::map<std::string, std::size_t> when;
    std::ifstream in(folder_ / "notes");
    for (std::string verb, name, rest; in >> verb >> name && std::getline(in, rest);) {
      if (verb == "ran") when.try_emplace(name, when.size());
    }
    in.close();
    std::filesystem::remove(folder_ / "notes");
    const auto precedes = [&](const RaceSide& early, const RaceSide& late) {
      const auto end = when.find(early.last), begin = when.find(late.name);
      return end != when.end() && begin != when.end() && end->second < begin->second;
    };
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto& [first, second, report, has_other_memory] = pairs_[i];
      for (std::size_t order = 0; order < 2; ++order) {
        if (!precedes(order == 0 ? first : second, order == 0 ? second : first)) continue;
        Count& of_order = counts_[i][order];
        ++of_order.runs;
        if (failed && of_order.failed++ == 0) of_order.schedule = schedule;
      }
    }
  }
  void tell() const {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto& [first, second, report, has_other_memory] = pairs_[i];
      std::fprintf(stderr, "weir shake: race %zu of %zu: %s, and %s\n", i + 1, pairs_.size(), first.text().c_str(),
                   second.text().c_str());
      for (std::size_t order = 0; order < 2; ++order) {
        const auto& [runs, failed, schedule] = counts_[i][order];
        std::fprintf(stderr, "  %s came first in %u schedules, and %u of these failed%s%s\n",
                     order == 0 ? "the first" : "the second", runs, failed, failed != 0 ? ", as " : "", schedule.c_str());
      }
    }
  }

 private:
  struct Count {
    unsigned runs = 0, failed = 0;
    std::string schedule;  // the schedule of the first failed run
  };
  PrivateFolder folder_;
  std::vector<RacePair> pairs_;
  std::string watched_;
  std::vector<std::array<Count, 2>> counts_;
};

}  // namespace

int shake_program(const ShakeOptions& options) {
  // The host backend has its own schedules; on other backends the tool `shake` delays streams.
  const bool is_host = options.backend == "host";
  std::string setting = "WEIR_BACKEND=" + options.backend;
  ::setenv("WEIR_BACKEND", options.backend.c_str(), 1);
  if (!is_host) {
    try {
      (void)default_device();
    } catch (const Error& error) {
      std::fprintf(stderr, "weir shake: %s\n", error.what());
      return 2;
    }
    ::setenv("WEIR_TOOLS", "shake", 1);
    setting += " WEIR_TOOLS=shake";
  }
  setting += other_variables();
  begin_runs();
  std::optional<RaceOrders> races;
  if (options.races) {
    Run run;
    races.emplace(options, run);
    if (run.error != 0) return cannot_run(options.command.front(), run.error);
  }
  std::string failed, first_failed;
  const char* again = "fails";
  unsigned failures = 0;
  ProgressLine progress;
  for (unsigned i = 0; i < options.seeds; ++i) {
    std::string seed = std::to_string(options.first + i);
    const bool is_pct = options.schedule == "pct" || (options.schedule == "both" && is_host && i % 2 == 1);
    if (is_pct) seed.insert(0, "pct:");
    if (is_pct && options.depth != 0) seed += ":" + std::to_string(options.depth);
    ::setenv("WEIR_SCHEDULE", (seed + (races ? races->notes() : "")).c_str(), 1);
    progress.show("[" + std::to_string(i + 1) + "/" + std::to_string(options.seeds) + ", " + std::to_string(failures) +
                  " failed]");
    const Run run = run_once(options.command, std::chrono::seconds(options.timeout));
    if (run.error != 0) {
      progress.clear();
      return cannot_run(options.command.front(), run.error);
    }
    const bool has_failed = run.hung || run.status != 0;
    if (races) races->count(has_failed, seed);
    if (!has_failed) continue;
    ++failures;
    failed += " " + seed;
    if (run.hung) {
      failed += " (hung)";
      progress.clear();
      std::fprintf(stderr, "weir shake: schedule %s hung: the run was killed after %u s\n", seed.c_str(), options.timeout);
    }
    if (!first_failed.empty()) continue;
    first_failed = seed;
    if (run.hung) again = "hangs";
  }
  progress.clear();
  std::fprintf(stderr, "weir shake: %u of %u schedules failed%s%s\n", failures, options.seeds, failures != 0 ? ":" : "",
               failed.c_str());
  if (races) races->tell();
  if (failures == 0) return 0;
  std::fprintf(stderr, "weir shake: %s WEIR_SCHEDULE=%s %s %s again\n", setting.c_str(), first_failed.c_str(),
               line_of(options.command).c_str(), again);
  return 1;
}

}  // namespace weir::tool
