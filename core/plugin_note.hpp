// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

/// The note by which a plugin is judged, read from its file without loading it: loading would run its code.
namespace weir::detail {

/// What a plugin says of itself. The strings are empty where the note ends before them; that of another interface revision
/// may hold something else there.
struct PluginNote {
  std::uint32_t revision = 0;
  std::string name, version, build;
};

/// Why a file has no note that can be read, in words: cause; remedy.
class NoPluginNote : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The note of the file at `path`. Throws NoPluginNote. Reads a few kilobytes, whatever the file's size, and trusts no number
/// in it.
PluginNote read_plugin_note(const std::string& path);

}  // namespace weir::detail
