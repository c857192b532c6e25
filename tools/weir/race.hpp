// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// `weir race`: runs the tool `race` and tests whether each reported race changes the program's results.
namespace weir::tool {

struct RaceOptions {
  bool witness = false;              ///< run the program again in both orders of each race
  std::string schedule = "1";        ///< the value of WEIR_SCHEDULE for all runs
  std::vector<std::string> outputs;  ///< files that the program writes, to compare as well
  unsigned timeout = 0;              ///< seconds for each run; 0: ten times as long as the first run, plus 10
  std::string json;                  ///< file for the verdicts; empty: none
  std::vector<std::string> command;  ///< the program, searched in PATH, and its arguments
};

/// Without `witness`, runs the program with the tool `race` in place of this process. With `witness`, runs the program on
/// the host backend with the tool, then without the tool in both orders of each race, and reports the differences. Returns 0
/// if no race was reported, 1 if at least one race changed the results, 3 if there were races but none changed them, and 127
/// or 126 if the program cannot be run.
int race_program(const RaceOptions& options);

}  // namespace weir::tool
