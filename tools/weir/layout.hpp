// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Formats text for a terminal.
namespace weir::tool {

/// Returns the number of columns to use: the terminal's, limited to 60 to 100; 100 if standard output is not a terminal.
int output_width();

/// Appends `label`, indented by `indent`, and `text`, which begins at column `column`. The text is broken between words into
/// lines of at most `width` columns. Line breaks in `text` are kept. A word that is longer than a line is not broken.
void append_field(std::string& out, int indent, std::string_view label, int column, std::string_view text, int width);

/// Whether to use colours: standard output is a terminal, NO_COLOR is not set, and TERM is not "dumb".
bool wants_colour();

/// Appends the first line of a backend, its name and its state, like `append_field`. With `colour`, the name is bold, and
/// the state is green if `good`, else yellow.
void append_state(std::string& out, std::string_view name, int column, std::string_view state, bool good, bool colour);

/// Returns a size with a unit: "79.6 GiB", "50 MiB", "228 KiB", "12 B".
std::string format_bytes(std::uint64_t bytes);

}  // namespace weir::tool
