// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "report.hpp"
#include "runs.hpp"

/// The pairs of racing operations that the tool `race` reports for a program.
namespace weir::tool {

/// A temporary folder, which the destructor removes.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  std::string operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// One of the two operations of a race.
struct RaceSide {
  std::string name;       ///< the operation's name in schedules: "3.2", "3.2/0", "host"; empty: none
  std::string last;       ///< the name of the last operation of the same call
  std::string operation;  ///< "kernel 'scale'"
  std::string place;      ///< "main src/main.cpp:30"

  bool is_host() const { return name == "host"; }
  bool is_of_host() const { return is_host() || operation == "Buffer::host"; }  // the host or its host function
  std::string text() const { return place.empty() ? operation : operation + " at " + place; }
};

struct RacePair {
  RaceSide first, second;
  Json report;                     ///< the tool's report
  bool has_other_memory = false;   ///< the program uses memory of other code, or opened memory of another process
};

/// Runs the command once on the host backend with the tool `race` under this schedule, and returns the racing pairs. `run`:
/// receives the outcome. Afterwards restores the environment variables, except WEIR_BACKEND and WEIR_SCHEDULE.
std::vector<RacePair> find_races(const std::vector<std::string>& command, const std::string& schedule,
                                 std::chrono::seconds timeout, const PrivateFolder& folder, Run& run);

}  // namespace weir::tool
