// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// The report of `weir info` as JSON, which `--json` prints. docs/weir-command.md describes the fields.
namespace weir::tool {

using Json = nlohmann::ordered_json;

/// Probes the named backends; without names, probes all known backends and those in WEIR_BACKEND. Adds the default device.
/// Backends that fail are part of the report. Throws `weir::Error` if an environment variable is invalid.
Json make_report(const std::vector<std::string>& names);

/// Returns the text under a key; "" if there is none.
std::string text_of(const Json& object, const char* key);

/// Returns the file and the outcome of one of a backend's "attempts".
std::string attempt_text(const Json& attempt);

/// Returns an error text for each invalid environment variable that was read.
std::vector<std::string> bad_variables(const Json& report);

/// Whether each backend of `names` is usable; without names, whether there is a default device.
bool all_usable(const Json& report, const std::vector<std::string>& names);

}  // namespace weir::tool
