// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Files that a tool writes while the program runs.
namespace weir::model {

/// The result of `Tool::finish` if the tool's file could not be written; it becomes the program's exit status.
inline constexpr int lost_output = 3;

/// Opens and empties the file `name`, and locks it for this process. If another process has locked it, changes `name` to
/// NAME.PID and prints a line to standard error. Returns -1 and sets errno if the file cannot be opened. `tool`: "weir race"
int open_own(const char* tool, std::string& name);
/// Whether `file` is a regular file, so that it can be locked and written at any offset.
bool is_regular(int file) noexcept;
/// Unlocks the file for other processes. Without this, a forked child that outlives this process would keep the lock.
void release(int file) noexcept;

}  // namespace weir::model
