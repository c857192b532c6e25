// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

/// Runs a program repeatedly, for `weir shake` and `weir race --witness`.
namespace weir::tool {

struct Run {
  int error = 0;      ///< why it could not be started, or 0
  bool hung = false;  ///< it took too long and was killed with its children
  int status = 0;     ///< the status from `waitpid`
  bool used_weir = false;  ///< for a run with the tool `race`: the tool was loaded
};

/// From now on, signals that end this process also end the run.
void begin_runs();
/// Runs the command. `timeout`: 0 for none. `output` and `errors`: files for its standard output and standard error; empty:
/// those of this process.
Run run_once(const std::vector<std::string>& command, std::chrono::seconds timeout, const std::string& output = "",
             const std::string& errors = "");
/// Prints why a run could not be started. Returns the exit status: 127 if there is no such program, else 126.
int cannot_run(const std::string& program, int error);

/// " WEIR_HOST_DEVICES=2": Weir's variables that are set, except WEIR_BACKEND, WEIR_SCHEDULE, WEIR_TOOLS and WEIR_RACE.
std::string other_variables();

/// Returns the command as one line.
std::string line_of(const std::vector<std::string>& command);

}  // namespace weir::tool
