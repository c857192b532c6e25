// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// `weir shake`: runs a program repeatedly, each time with another order of its streams.
namespace weir::tool {

struct ShakeOptions {
  unsigned seeds = 20;               ///< number of seeds
  unsigned first = 1;                ///< the first seed
  std::string backend = "host";      ///< the program's backend
  std::string schedule = "both";     ///< "random", "pct" (by priorities), or "both" in turn
  unsigned timeout = 60;             ///< seconds for each run; 0: no limit
  std::vector<std::string> command;  ///< the program, searched in PATH, and its arguments
};

/// Runs the program with one value of WEIR_SCHEDULE after another, and reports the values that make it fail. A run that
/// exceeds the timeout is killed and counts as failed. Returns 0 if no run failed, 1 if at least one did, and 127 or 126 if
/// the program cannot be run.
int shake_program(const ShakeOptions& options);

}  // namespace weir::tool
