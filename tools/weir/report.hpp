// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What `weir info` knows, in the form in which `--json` prints it; docs/weir-command.md describes the fields.
namespace weir::tool {

using Json = nlohmann::ordered_json;

/// Probes the backends of those names, or all known ones and those that WEIR_BACKEND names, and says which device a program
/// would get by default. A backend that is broken is part of the report. Throws `weir::Error` where an environment variable
/// does not parse.
Json make_report(const std::vector<std::string>& names);

/// What is wrong with the environment variables that were read or would be: an error's text for each.
std::vector<std::string> bad_variables(const Json& report);

/// Whether what was asked for is there: each backend of `names`; without names, a default device.
bool all_usable(const Json& report, const std::vector<std::string>& names);

}  // namespace weir::tool
