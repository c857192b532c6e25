// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The words of a preprocessed C++ source, and where they come from.
namespace weir::kernels {

/// How the preprocessor's line markers call the text that stands before a source and is not the user's code.
inline constexpr std::string_view prelude_file_name = "<weir prelude>";
/// The folder of headers that belong to it, as the compiler is told it. Not a folder of system headers: words of macros of
/// those would count as theirs.
inline constexpr std::string_view header_folder = "../headers";

struct Token {
  enum class Kind : std::uint8_t { identifier, number, string, character, punctuation };

  Kind kind;
  std::uint32_t begin;  ///< offset in the text
  std::uint32_t end;
  std::uint32_t line;    ///< in its file, counted from 1
  std::uint32_t column;  ///< of the preprocessed line, counted from 0
  std::uint32_t file;    ///< index into TokenizedSource::files
  std::uint32_t match;   ///< for ( ) [ ] { }: the token of the other one; its own index where there is none
};

struct TokenizedSource {
  std::string_view text;
  std::vector<Token> tokens;
  /// Names as the line markers spell them, quoted and escaped.
  std::vector<std::string> files;

  std::string_view spelling(std::size_t token) const { return spelling(tokens[token]); }
  std::string_view spelling(const Token& token) const { return text.substr(token.begin, token.end - token.begin); }
};

/// Splits what a preprocessor wrote (with line markers) into tokens. The prelude and system headers are passed over: only
/// the user's source and the user's headers are seen. `::` and `->` are one token each, other punctuation is single
/// characters; pragmas and comments are skipped. `text` must outlive the result, and be shorter than 4 GiB.
TokenizedSource tokenize(std::string_view text);

/// A file's name as the user knows it, from its spelling in a line marker.
std::string file_name(std::string_view quoted);

}  // namespace weir::kernels
