// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

/// The command's manual pages, and what shells offer to complete a command line.
namespace weir::tool {

/// Writes the manual pages into the folder. The build calls this. The content comes from the command's parser, from the
/// other programs' help (`weir-kernels.help` and `weir-conformance.help` in the folder, if they exist), and from the table
/// of variables in the file `environment`, docs/environment.md. Throws `std::runtime_error`.
void write_documents(const CLI::App& app, const std::string& folder, const std::string& environment);

/// Returns a line for each word that may follow these words of a command line; "" if it is a file, or is not known.
std::string offers(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace weir::tool
