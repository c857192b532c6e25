// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The tokens of a preprocessed C++ source and their places in the user's files.
namespace weir::kernels {

/// The file name that line markers use for the prelude, which is not the user's code.
inline constexpr std::string_view prelude_file_name = "<weir prelude>";
/// The folder of the prelude's headers, as passed to the compiler. It must not be a system header folder: tokens from macros
/// of system headers are skipped.
inline constexpr std::string_view header_folder = "../headers";

struct Token {
  enum class Kind : std::uint8_t { identifier, number, string, character, punctuation };

  Kind kind;
  std::uint32_t begin;  ///< offset in the text
  std::uint32_t end;
  std::uint32_t line;    ///< line in its file, counted from 1
  std::uint32_t column;  ///< column in the preprocessed line, counted from 0
  std::uint32_t file;    ///< index into TokenizedSource::files
  std::uint32_t match;   ///< for ( ) [ ] { }: the matching token; its own index without a match
};

struct TokenizedSource {
  std::string_view text;
  std::vector<Token> tokens;
  /// Names as the line markers spell them, quoted and escaped.
  std::vector<std::string> files;

  std::string_view spelling(std::size_t token) const { return spelling(tokens[token]); }
  std::string_view spelling(const Token& token) const { return text.substr(token.begin, token.end - token.begin); }
};

/// Splits preprocessed text (with line markers) into tokens. It skips the prelude and system headers and returns only the
/// tokens of the user's source and headers. `::` and `->` are one token each, other punctuation is single characters;
/// pragmas and comments are skipped. `text` must outlive the result and be shorter than 4 GiB.
TokenizedSource tokenize(std::string_view text);

/// Converts a file's spelling in a line marker to the name that the user uses.
std::string file_name(std::string_view quoted);

}  // namespace weir::kernels
