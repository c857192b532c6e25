// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>

/// Explains mistakes in a command line.
namespace weir::tool {

/// Returns a text with the first command or option that `app` does not have and a suggestion; "" if all are known. Arguments
/// after `--` are ignored, because they belong to another program.
std::string explain_mistake(const CLI::App& app, int argc, const char* const* argv);

}  // namespace weir::tool
