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

/// "79.6 GiB", "50 MiB", "228 KiB", "12 B"
std::string format_bytes(std::uint64_t bytes);

}  // namespace weir::tool
