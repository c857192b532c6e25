// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Runs other programs: a user's program for `weir run` and `weir timeline`, and programs in the command's own folder.
namespace weir::tool {

struct RunOptions {
  std::string backend;               ///< WEIR_BACKEND, or empty: unchanged
  std::optional<unsigned> device;    ///< WEIR_DEVICE
  std::string disable_features;      ///< WEIR_DISABLE_FEATURES, or empty
  std::string log;                   ///< WEIR_LOG, or empty
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

/// Whether the folder of this command contains a program `name`.
bool is_beside(const std::string& name);

/// Runs the program `name` in the folder of this command in place of this process, with these arguments. Returns only after
/// an error message: 127, with `remedy`, if the program is missing, else 126.
int run_beside(const std::string& name, const std::vector<std::string>& arguments, const std::string& remedy);

}  // namespace weir::tool
