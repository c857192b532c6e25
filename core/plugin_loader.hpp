// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugin_note.hpp"
#include "weir/backend_info.hpp"

namespace weir {
class PluginContext;
struct ImageCompilation;
}

/// Finding a backend's plugin, the handshake, and opening it.
namespace weir::detail {

/// The absolute folders that plugins are looked for in, in order, none twice:
///
///   1. those of `plugin_path` (WEIR_PLUGIN_PATH), colon-separated;
///   2. the folder of the library itself, where a build tree has them;
///   3. `weir-0.1` (of version 0.1) in the folder of the library, where an installed tree has them.
///
/// No path is compiled in: a tree that was moved, or is not installed yet, must not load the plugins of another installation.
/// Throws `invalid_environment` for an empty or relative element: the current folder is never searched.
std::vector<std::string> plugin_folders(const std::optional<std::string>& plugin_path);

/// The plugin's file in the first of `folders` that has one, or empty. Opens nothing. What each folder had is told in
/// `attempts`, save that of the file that is returned.
std::string find_plugin(std::string_view name, std::span<const std::string> folders, std::vector<LoadAttempt>& attempts);

/// A plugin that fits and was loaded.
struct Plugin {
  std::string version;
  Backend* (*create)(PluginContext&);
  void (*compile_image)(ImageCompilation&);  ///< null where it cannot
};

/// Reads the note of the plugin at the absolute `path`, and loads the plugin, for good, if it fits. Throws
/// `plugin_incompatible`, naming both sides, if it does not; none of its code has run then.
Plugin open_plugin(std::string_view name, const std::string& path, std::vector<LoadAttempt>& attempts);

/// The handshake: why a plugin with that note, in a file that is named after backend `name`, cannot be used, naming both
/// sides; or empty.
std::string handshake_fault(const PluginNote& note, std::string_view name);

}  // namespace weir::detail
