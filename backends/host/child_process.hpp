// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Running another program and reading what it says.
namespace weir::host {

struct ChildOutcome {
  /// The exit status; negative if a signal ended the program; nothing is known (`reaped_elsewhere`) where the application
  /// collects its children itself.
  int status = 0;
  bool reaped_elsewhere = false;
  std::string output;  ///< standard output and standard error together
};

/// Runs `arguments[0]`, an absolute path, in `folder` and waits for it. `environment`: all of the child's, as "NAME=value".
/// No shell takes part; the child has no input, none of this process's open files, and the default signal handling. Throws
/// std::system_error if it cannot be started.
ChildOutcome run_child(const std::vector<std::string>& arguments, const std::string& folder,
                       const std::vector<std::string>& environment);

}  // namespace weir::host
