// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

/// Writes the command's manual pages and shell completions.
namespace weir::tool {

/// Writes the manual pages and the completions for bash, zsh and fish into the folder. The build calls this. The content
/// comes from the command's parser, from the other programs' help (`weir-kernels.help` and `weir-conformance.help` in the
/// folder, if they exist), and from the table of variables in the file `environment`, docs/environment.md. Throws
/// `std::runtime_error`.
void write_documents(const CLI::App& app, const std::string& folder, const std::string& environment);

}  // namespace weir::tool
