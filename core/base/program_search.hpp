// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Finds the programs that Weir runs, and builds their environment.
namespace weir::detail {

/// The absolute folders in PATH. Empty in a process with raised privileges.
std::vector<std::string> search_path();
/// The path of a program in those folders or in the system's; empty if it is not found.
std::string find_program(std::string_view name);
/// The environment of a compiler and its tools: the C locale; a PATH of its own folder, this process's absolute folders and
/// the system's; TMPDIR; and the variables for headers and libraries. A process with raised privileges passes on none of its
/// own variables, since its caller chose them.
std::vector<std::string> program_environment(const std::string& program);
/// The variables of this process that `program_environment` passes on, except PATH and TMPDIR.
std::span<const char* const> search_variables() noexcept;

}  // namespace weir::detail
