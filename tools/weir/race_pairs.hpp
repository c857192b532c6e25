// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "report.hpp"
#include "runs.hpp"

/// The pairs of operations that the tool `race` reports of a program.
namespace weir::tool {

/// A folder of this process's own, for as long as it is in use.
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

/// One of the two operations.
struct RaceSide {
  std::string name;       ///< by which schedules know it: "3.2", "3.2/0", "host"; empty: they do not
  std::string last;       ///< the same, or the last of those that one call made
  std::string operation;  ///< "kernel 'scale'"
  std::string place;      ///< "main src/main.cpp:30"

  bool is_host() const { return name == "host"; }
  bool is_of_host() const { return is_host() || operation == "Buffer::host"; }  // in a host function
  std::string text() const { return place.empty() ? operation : operation + " at " + place; }
};

struct RacePair {
  RaceSide first, second;
  Json report;                     ///< what the tool has written
  bool has_other_memory = false;  ///< the program adopted memory, or opened another process's
};

/// Runs the command on the host backend with the tool, under this schedule, and gives the pairs. `run`: how it ended. The
/// variables are as before then, but for WEIR_BACKEND and WEIR_SCHEDULE.
std::vector<RacePair> find_races(const std::vector<std::string>& command, const std::string& schedule,
                                 std::chrono::seconds timeout, const PrivateFolder& folder, Run& run);

}  // namespace weir::tool
