// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/plugins/plugin_note.hpp"
#include "weir/backend_info.hpp"

namespace weir {
class PluginContext;
class Tool;
struct ImageCompilation;
}

/// Plugins: finding, checking and opening them.
namespace weir::detail {

/// The absolute folders in which plugins are searched, in order and without repetitions:
///
///   1. those in `plugin_path` (WEIR_PLUGIN_PATH), separated by colons;
///   2. the library's folder, which contains them in a build tree;
///   3. `weir-0.1` (for version 0.1) in the library's folder, which contains them in an installed tree.
///
/// No path is compiled in, so a tree that was moved or is not installed never loads another installation's plugins. Throws
/// `invalid_environment` for an empty or relative element: the current folder is never searched.
std::vector<std::string> plugin_folders(const std::optional<std::string>& plugin_path);

/// The plugin's file in the first of `folders` that contains it, or "". Opens nothing. Appends the folders without it to
/// `attempts`.
std::string find_plugin(std::string_view name, std::span<const std::string> folders, std::vector<LoadAttempt>& attempts);

/// A loaded plugin.
struct Plugin {
  std::string version;
  Backend* (*create)(PluginContext&);
  void (*compile_image)(ImageCompilation&);  ///< null if the backend does not support it
};

/// Reads the note of the plugin at the absolute `path` into `note` and loads the plugin if it fits. It is never unloaded. If
/// it does not fit, throws `plugin_incompatible`, which names both sides; none of its code has run then. Returns the
/// loader's handle.
void* load_plugin(std::string_view name, const std::string& path, PluginNote& note, std::vector<LoadAttempt>& attempts);

/// The same for a plugin that contains a backend.
Plugin open_plugin(std::string_view name, const std::string& path, std::vector<LoadAttempt>& attempts);

/// Finds, checks and opens the tool of that name, `libweir_tool_NAME.so`, in the same way as a plugin, and creates the tool.
/// Throws `plugin_not_found`, `plugin_incompatible`, and the exceptions of its factory.
Tool* open_tool(std::string_view name, std::span<const std::string> folders);

/// Why a plugin with this note, in a file named after backend `name`, cannot be used; "" if it can.
std::string handshake_fault(const PluginNote& note, std::string_view name);

}  // namespace weir::detail
