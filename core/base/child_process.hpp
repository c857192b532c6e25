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

/// Runs `arguments[0]`, an absolute path, in `folder` and waits for it, and not for what it leaves running. `environment`:
/// the whole environment of the child, as "NAME=value". Uses no shell. The child has no input, no open files of this
/// process, and default signal handling. Throws std::system_error if it cannot be started. `cpu_seconds`: after so much time
/// of a processor SIGXCPU ends it, and each program that it starts; 0: no limit. `late`: called if the program still runs
/// after `patience`, where the system can tell (Linux 5.3).
ChildOutcome run_child(const std::vector<std::string>& arguments, const std::string& folder,
                       const std::vector<std::string>& environment, unsigned cpu_seconds = 0,
                       const std::function<void()>& late = {}, std::chrono::nanoseconds patience = {});

}  // namespace weir::detail
