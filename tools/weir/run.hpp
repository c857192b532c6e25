// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Runs a user's program, for `weir run`, `weir race`, `weir timeline` and `weir record`.
namespace weir::tool {

struct RunOptions {
  std::string backend;               ///< WEIR_BACKEND, or empty: unchanged
  std::string tools;                 ///< WEIR_TOOLS, or empty
  std::string timeline;              ///< WEIR_TIMELINE, or empty
  std::string recording;             ///< WEIR_RECORD_FILE, or empty
  std::uint64_t record_limit = 0;    ///< WEIR_RECORD_LIMIT, or 0
  std::string stuck;                 ///< WEIR_STUCK, or empty
  std::vector<std::string> command;  ///< the program, searched in PATH, and its arguments
};

/// Runs the program in place of this process. Returns only after an error message: 127 if there is no such program, else
/// 126. With the tool `race`, runs the program as a child and returns its exit status, or 128 + the number of the signal
/// that ended it. If that status is 0 but a process of the program has reported a race, returns the status for races.
int run_program(const RunOptions& options);

/// Runs the program with the tool `timeline` or `record`, and prints an error if it writes no file. Returns the program's
/// exit status, or 128 + the number of the signal that ended it. If that status is 0 but there is no file, returns 3. If the
/// file cannot be written, returns 3 without running the program. Returns 126 or 127 as `run_program` does.
int trace_program(const RunOptions& options);

}  // namespace weir::tool
