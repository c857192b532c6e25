// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Finds the programs that Weir runs, such as compilers, and builds their environment.
namespace weir::detail {

/// The absolute folders in PATH. If PATH is not set, or in a set-user-ID process, the system's usual folders.
std::vector<std::string> search_path();
/// The path of the program `name` in the folders of `search_path` or in the system's usual folders; empty if it is not
/// found.
std::string find_program(std::string_view name);
/// The environment for running `program`, a compiler. It contains LC_ALL=C; a PATH of the program's own folder,
/// `search_path` and the system's usual folders; TMPDIR; and the variables in `search_variables`. A set-user-ID process
/// passes on none of its own variables, because its caller could have chosen them to run other code.
std::vector<std::string> program_environment(const std::string& program);
/// The variables with folders of headers and libraries, which `program_environment` passes on.
std::span<const char* const> search_variables() noexcept;

}  // namespace weir::detail
