// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/library.hpp"
#include "weir/backend_info.hpp"

namespace weir {
class PluginContext;
class Tool;
struct ImageCompilation;
}  // namespace weir

/// Finds, checks and loads plugins.
namespace weir::detail {

/// The absolute folders where Weir searches plugins, in this order and without repetitions:
///
///   1. the folders in `plugin_path` (the value of WEIR_PLUGIN_PATH), separated by colons;
///   2. the library's folder, which contains the plugins in a build tree;
///   3. `weir-0.1` (for version 0.1) in the library's folder, which contains the plugins in an installed tree.
///
/// The library contains no absolute path, so that a moved or uninstalled tree never loads plugins of another installation.
/// Throws `invalid_environment` for an empty or relative element, because the current folder must never be searched.
std::vector<std::string> plugin_folders(const std::optional<std::string>& plugin_path);

/// Returns the path of the plugin's file in the first of `folders` that contains it, or "". Does not open the file. Appends
/// each folder without the file to `attempts`.
std::string find_plugin(std::string_view name, std::span<const std::string> folders, std::vector<LoadAttempt>& attempts);

/// A plugin's ELF note. If `revision` is not this library's, the texts may have another meaning.
struct PluginNote {
  std::string fault;  ///< why the file has no note, "cause; remedy"; "" if it has one
  std::uint32_t revision = 0;
  std::string name, version, build;
};

/// Reads the note from the plugin's file, without loading the plugin, because loading runs code of the plugin. Also finds
/// that a file is truncated, unless its section headers were stripped: loading it could end the process with SIGBUS.
PluginNote read_plugin_note(const std::string& path);

/// A loaded plugin.
struct Plugin {
  std::string version;
  Backend* (*create)(PluginContext&);
  void (*compile_image)(ImageCompilation&);  ///< null if the plugin cannot compile without a device
};

/// Reads the note of the plugin at the absolute path `path` into `note`, and loads the plugin, which is never
/// unloaded. If the note does not fit this library, throws `plugin_incompatible`, with the differences,
/// before any code of the plugin runs.
Library load_plugin(std::string_view name, const std::string& path, PluginNote& note, std::vector<LoadAttempt>& attempts);

/// Loads a plugin that contains a backend, in the same way.
Plugin open_plugin(std::string_view name, const std::string& path, std::vector<LoadAttempt>& attempts);

/// Finds and loads the tool `name`, in `libweir_tool_NAME.so`, in the same way, and creates it. Throws `plugin_not_found`,
/// `plugin_incompatible`, and the exceptions of the tool's factory.
Tool* open_tool(std::string_view name, std::span<const std::string> folders);

/// The reason why a plugin with this note, in the file libweir_NAME.so, does not fit this library; "" if it fits.
std::string handshake_fault(const PluginNote& note, std::string_view name);

}  // namespace weir::detail
