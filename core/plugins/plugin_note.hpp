// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

/// A plugin's ELF note, which is read from the file without loading the plugin: loading would run its code.
namespace weir::detail {

/// The content of the note. Strings that the note lacks are empty. A note of another interface revision may have other
/// content.
struct PluginNote {
  std::uint32_t revision = 0;
  std::string name, version, build;
};

/// Why a file has no readable note: cause; remedy.
class NoPluginNote : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the note of the file at `path`. Throws NoPluginNote, also for a truncated file, because loading that would end the
/// process by SIGBUS. Reads a few kilobytes and validates every number in the file.
PluginNote read_plugin_note(const std::string& path);

}  // namespace weir::detail
