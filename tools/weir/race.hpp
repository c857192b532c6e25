// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// `weir race`: what the tool `race` reports, and what comes of each report.
namespace weir::tool {

struct RaceOptions {
  bool witness = false;              ///< run the program again, in both orders of each race
  std::string schedule = "1";        ///< of all runs: a value of WEIR_SCHEDULE
  std::vector<std::string> outputs;  ///< files that the program writes, which are compared, too
  unsigned timeout = 0;              ///< how many seconds each run may take; 0: ten times as long as the first, and 10 more
  std::string json;                  ///< the file that gets the verdicts; empty: none
  std::vector<std::string> command;  ///< the program, found as a shell finds it, and its arguments
};

/// Without `witness`, becomes the program with the tool `race`. With it, runs the program on the host backend with the tool,
/// and then without it twice for each race, in one order and in the other, and tells what differs. Returns 0 if no race was
/// reported, 1 if one was shown to matter, 3 if there are some and none was, and 127 or 126 if the program cannot be run.
int race_program(const RaceOptions& options);

}  // namespace weir::tool
