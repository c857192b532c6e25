// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Runs another program and reads its output.
namespace weir::detail {

struct ChildOutcome {
  /// The exit status, or the negative number of the signal that ended the program. Not set if `reaped_elsewhere`: other code
  /// in this process has waited for the child.
  int status = 0;
  bool reaped_elsewhere = false;
  std::string output;  ///< standard output and standard error together
};

/// Runs a program and blocks until it ends. Does not wait for programs that it leaves running. `arguments[0]`: the program's
/// absolute path; no shell is used. `folder`: the program's working directory. `environment`: its whole environment, as
/// "NAME=value". `cpu_seconds`: SIGXCPU ends the program, and each program that it starts, after this much processor time;
/// 0: no limit. The program has no input, inherits no open files, and has default signal handling. Throws
/// std::system_error if the program cannot be started.
ChildOutcome run_child(const std::vector<std::string>& arguments, const std::string& folder,
                       const std::vector<std::string>& environment, unsigned cpu_seconds = 0);

}  // namespace weir::detail
