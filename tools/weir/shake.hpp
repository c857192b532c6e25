// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// `weir shake`: a program again and again, each time in another order of its streams.
namespace weir::tool {

struct ShakeOptions {
  unsigned seeds = 20;               ///< how many
  unsigned first = 1;                ///< the first of them
  std::string backend = "host";      ///< what the program runs on
  std::string schedule = "both";     ///< "random", "pct": by priorities, or "both" by turns
  unsigned depth = 0;                ///< of those by priorities; 0: the usual one
  unsigned timeout = 60;             ///< how many seconds each run gets; 0: as many as it takes
  bool races = false;                ///< also tell which order the operations of each race had in how many failed runs
  std::vector<std::string> command;  ///< the program, found as a shell finds it, and its arguments
};

/// Runs the program with one value of WEIR_SCHEDULE after another, and tells with which it fails. A run that does not end in
/// time is killed, and has failed.
/// Returns 0 if there is none, 1 if there are some, and 127 or 126 if the program cannot be run.
int shake_program(const ShakeOptions& options);

}  // namespace weir::tool
