// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

/// One program run again and again: `weir shake`, `weir race --witness`.
namespace weir::tool {

struct Run {
  int error = 0;      ///< why it could not be started, or 0
  bool hung = false;  ///< it was killed, with all that it had started, since it took too long
  int status = 0;     ///< as `waitpid` tells it
  bool used_weir = false;  ///< of a run that looks for races: the tool was loaded
};

/// The signals that end this process end the run, too.
void begin_runs();
/// Runs the command. `timeout`: 0 for none. `output`: what gets its standard output, and `errors` its standard error; empty:
/// as this process.
Run run_once(const std::vector<std::string>& command, std::chrono::seconds timeout, const std::string& output = "",
             const std::string& errors = "");
/// Says why a run could not be started. Returns the exit status: 127 if there is no such program, else 126.
int cannot_run(const std::string& program, int error);

/// " WEIR_HOST_DEVICES=2": Weir's variables that are set, but for WEIR_BACKEND, WEIR_SCHEDULE, WEIR_TOOLS and WEIR_RACE.
std::string other_variables();

/// The command as one line.
std::string line_of(const std::vector<std::string>& command);

}  // namespace weir::tool
