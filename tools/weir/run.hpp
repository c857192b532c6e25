// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Runs other programs: `weir run`, `weir timeline`, and the programs installed in the command's folder.
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
  std::vector<std::string> command;  ///< the program, found as a shell finds it, and its arguments
};

/// Replaces this process by the program. Returns only after an error message: 127 if there is no such program, else 126.
/// With the tool `race` it runs the program as a child and returns its exit status, or 128 + the number of the signal that
/// ended it. If that status is 0 but one of the program's processes has reported a race, it returns the status for races.
int run_program(const RunOptions& options);

/// Runs the program with the tool `timeline` or `record`, and prints an error if it writes no file. Returns the program's
/// exit status, or 128 + the number of the signal that ended it; 3 if the status was 0 and there is no file, or if the file
/// cannot be written, in which case the program is not run; 126 or 127 as `run_program` does.
int trace_program(const RunOptions& options);

/// Whether this program's folder contains a program `name`.
bool is_beside(const std::string& name);

/// Replaces this process by the program `name` in this program's folder, with these arguments. Returns only after an error
/// message: 127, with `remedy`, if the program is missing, else 126.
int run_beside(const std::string& name, const std::vector<std::string>& arguments, const std::string& remedy);

}  // namespace weir::tool
