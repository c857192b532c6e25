// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

/// Reads a plugin's ELF note from its file, without loading the plugin, because loading runs code of the plugin.
namespace weir::detail {

/// The content of the note. A string that the note lacks is empty. If `revision` is not this library's, the strings may have
/// another meaning.
struct PluginNote {
  std::uint32_t revision = 0;
  std::string name, version, build;
};

/// Thrown if a file has no readable note. what(): "cause; remedy".
class NoPluginNote : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the note of the file at `path`, and checks every size and offset in the file's headers. Throws NoPluginNote, also
/// for a truncated file: loading such a file would end the process with SIGBUS.
PluginNote read_plugin_note(const std::string& path);

}  // namespace weir::detail
