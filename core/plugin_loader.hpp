// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/plugin.hpp"

/// Finding a backend's plugin, opening it, and the handshake.
namespace weir::detail {

/// The absolute folders that plugins are looked for in, in order, none twice:
///
///   1. those of `plugin_path` (WEIR_PLUGIN_PATH), colon-separated;
///   2. the folder of the library itself, where a build tree has them;
///   3. `weir` in the folder of the library, where an installed tree has them, wherever it was moved to;
///   4. the folder that this build installs plugins to.
///
/// Throws `invalid_environment` for an empty or relative element: the current folder is never searched.
std::vector<std::string> plugin_folders(const std::optional<std::string>& plugin_path);

/// The plugin's file in the first of `folders` that has one, or empty. Opens nothing. What each folder had is told in
/// `attempts`, save that of the file that is returned.
std::string find_plugin(std::string_view name, std::span<const std::string> folders, std::vector<LoadAttempt>& attempts);

/// Opens the plugin at the absolute `path`, for good, and returns its descriptor after the handshake. Throws
/// `plugin_incompatible` if it cannot be opened, or is not a plugin that fits, naming both sides.
const weir_plugin_descriptor& open_plugin(std::string_view name, const std::string& path, std::vector<LoadAttempt>& attempts);

/// The handshake: why a plugin that was opened as `name` cannot be used, naming both sides; or empty. Reads no field before
/// the ones that vouch for it have been found right.
std::string handshake_fault(const weir_plugin_descriptor* descriptor, std::string_view name);

}  // namespace weir::detail
