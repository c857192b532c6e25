// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Files that a tool writes while the program runs.
namespace weir::model {

/// What `Tool::finish` returns if the tool's file could not be written: the exit status of the program, then.
inline constexpr int lost_output = 3;

/// Opens the file, empty, for this process alone: if another one has it, `name` becomes NAME.PID, and a line on standard
/// error says so. -1 if it cannot be opened, which errno explains. `tool`: "weir race"
int open_own(const char* tool, std::string& name);
/// What can be locked, and written at any place: no pipe and no device.
bool is_regular(int file) noexcept;
/// Lets another process have the file. Else a forked child, which outlives this process, would keep it.
void release(int file) noexcept;

}  // namespace weir::model
