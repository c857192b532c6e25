// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Other programs: `weir run`, `weir timeline`, and those that are installed beside the command.
namespace weir::tool {

struct RunOptions {
  std::string backend;               ///< WEIR_BACKEND, or empty: as it is
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

/// Becomes that program. Returns only if that fails, having told why: 127 if there is no such program, else 126. With the
/// tool `race` it runs the program, and returns its exit status, or 128 + the number of the signal that ended it; if that is
/// 0, and one of the program's processes has told of a race, the status for races.
int run_program(const RunOptions& options);

/// Runs that program with the tool `timeline` or `record`, and says so if it leaves no file. Returns the program's exit
/// status, or 128 + the number of the signal that ended it; 3 if the status was 0 and there is no file, or if the file
/// cannot be written, in which case the program is not run; 126 or 127 as `run_program` does.
int trace_program(const RunOptions& options);

/// Whether there is a program `name` in this program's own folder.
bool is_beside(const std::string& name);

/// Becomes the program `name` that lies in this program's own folder, with these arguments. Returns only if that fails,
/// having told why: 127 if it is not there, with `remedy`, else 126.
int run_beside(const std::string& name, const std::vector<std::string>& arguments, const std::string& remedy);

}  // namespace weir::tool
