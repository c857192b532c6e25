// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

/// Runs another program and reads its output.
namespace weir::detail {

struct ChildOutcome {
  /// The exit status; negative if a signal ended the program. Unknown (`reaped_elsewhere`) if the application reaps its
  /// children itself.
  int status = 0;
  bool reaped_elsewhere = false;
  std::string output;  ///< standard output and standard error together
};

/// Runs `arguments[0]`, an absolute path, in `folder` and waits for it, but not for programs that it leaves running.
/// `environment`: the child's whole environment, as "NAME=value". Uses no shell. The child has no input, no open files of
/// this process, and default signal handling. Throws std::system_error if the program cannot be started. `cpu_seconds`:
/// SIGXCPU ends the child, and each program that it starts, after this much processor time; 0: no limit. `late`: called if
/// the program still runs after `patience`, if the system can determine that (Linux 5.3).
ChildOutcome run_child(const std::vector<std::string>& arguments, const std::string& folder,
                       const std::vector<std::string>& environment, unsigned cpu_seconds = 0,
                       const std::function<void()>& late = {}, std::chrono::nanoseconds patience = {});

}  // namespace weir::detail
