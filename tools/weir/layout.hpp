// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Laying text out on a terminal.
namespace weir::tool {

/// Columns to write in: the terminal's, but at least 60 and at most 100; 100 where standard output is none.
int output_width();

/// Appends `label`, indented by `indent`, and `text` from column `column` on, broken between words to lines of at most
/// `width` columns. Lines of `text` stay apart. A word that is longer than a line is not broken.
void append_field(std::string& out, int indent, std::string_view label, int column, std::string_view text, int width);

/// Whether standard output is a terminal whose user wants colours: NO_COLOR is not set, TERM is not "dumb".
bool wants_colour();

/// A backend's first line, its name and its state, as `append_field`. In colour the name is bold, and the state green where
/// it is `good`, else yellow.
void append_state(std::string& out, std::string_view name, int column, std::string_view state, bool good, bool colour);

/// "79.6 GiB", "50 MiB", "228 KiB", "12 B"
std::string format_bytes(std::uint64_t bytes);

}  // namespace weir::tool
