// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace weir::tool {

/// Writes the manual pages and the completions of bash, zsh and fish into the folder, from the command's parser, the other
/// programs' help (`weir-kernels.help` and `weir-conformance.help` in that folder, if they exist) and the table of variables
/// in
/// `environment`, docs/environment.md. The build calls it. Throws `std::runtime_error`.
void write_documents(const CLI::App& app, const std::string& folder, const std::string& environment);

}  // namespace weir::tool
