// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

/// Runs a program repeatedly, for `weir shake` and `weir race --witness`.
namespace weir::tool {

struct Run {
  int error = 0;           ///< the error number if the run could not be started, or 0
  bool hung = false;       ///< the run took too long, so it was killed with its children
  int status = 0;          ///< the status from `waitpid`
  bool used_weir = false;  ///< for a run with the tool `race`: whether the program loaded the tool
};

/// After this call, signals that end this process also end the run.
void begin_runs();
/// Runs the command. `timeout`: 0 for no limit. `output` and `errors`: files for its standard output and standard error; if
/// empty, those of this process are used.
Run run_once(const std::vector<std::string>& command, std::chrono::seconds timeout, const std::string& output = "",
             const std::string& errors = "");
/// Prints why a run could not be started. Returns the exit status: 127 if there is no such program, else 126.
int cannot_run(const std::string& program, int error);

/// Returns Weir's variables that are set, such as " WEIR_HOST_DEVICES=2", except WEIR_BACKEND, WEIR_SCHEDULE, WEIR_TOOLS and
/// WEIR_RACE.
std::string other_variables();

/// Returns the words as `execvp` takes them.
std::vector<char*> pointers_to(std::vector<std::string>& words);

/// Returns the command as one line.
std::string line_of(const std::vector<std::string>& command);

}  // namespace weir::tool
