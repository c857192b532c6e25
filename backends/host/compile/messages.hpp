// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What a compiler says about a completed unit (kernel_source.hpp), in the user's words.
namespace weir::host {

/// Precedes the file's name in line markers of generated code, whose errors only repeat those of the user's code.
inline constexpr std::string_view generated_mark = "<generated>/";
/// The file name of the checks of keywords, which are generated too.
inline constexpr std::string_view keywords_file_name = "<keywords>";

struct PlacedToken {
  std::size_t column;  ///< from 0
  std::string text;
};
/// A line as the user wrote it, and as the preprocessor wrote it, in whose columns compilers count. Empty if unknown.
struct SourceLine {
  std::string written;
  std::vector<PlacedToken> preprocessed;
};

/// A compiler's output without source lines of its own, with the user's lines and columns. Errors in generated code are left
/// out behind an error of the user's, and most notes about the prelude.
std::string user_messages(std::string_view output,
                          const std::function<SourceLine(const std::string& file, std::size_t line)>& line_of);

/// Replaces the lines of `assembly` in an assembler's messages by those of the source, which the assembly names, and keeps
/// one message for each. `file`: the end of the assembly's name in the messages.
std::string with_source_lines(std::string_view output, std::string_view assembly, std::string_view file);

}  // namespace weir::host
