// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The report of `weir info`, in the form that `--json` prints; docs/weir-command.md describes the fields.
namespace weir::tool {

using Json = nlohmann::ordered_json;

/// Probes the named backends, or else all known ones and those in WEIR_BACKEND, and adds the device that a program would get
/// by default. Broken backends are part of the report. Throws `weir::Error` if an environment variable does not parse.
Json make_report(const std::vector<std::string>& names);

/// Returns an error text for each wrong environment variable among those that are read.
std::vector<std::string> bad_variables(const Json& report);

/// Whether each backend of `names` is usable; without names, whether there is a default device.
bool all_usable(const Json& report, const std::vector<std::string>& names);

}  // namespace weir::tool
