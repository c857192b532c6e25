// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Splits a preprocessed C++ source into tokens, with their positions in the user's files.
namespace weir::kernels {

/// The name of the prelude in line markers. Its text is not the user's code.
inline constexpr std::string_view prelude_file_name = "<weir prelude>";
/// The folder of the prelude's headers, as it is passed to the compiler. It must not be passed as a folder of system
/// headers, because tokens that come from macros of system headers are skipped.
inline constexpr std::string_view header_folder = "../headers";

struct Token {
  enum class Kind : std::uint8_t { identifier, number, string, character, punctuation };

  Kind kind;
  std::uint32_t begin;  ///< offset in the text
  std::uint32_t end;
  std::uint32_t line;    ///< line in its file, counted from 1
  std::uint32_t column;  ///< column in the preprocessed line, counted from 0
  std::uint32_t file;    ///< index into TokenizedSource::files
  std::uint32_t match;   ///< for ( ) [ ] { }: index of the matching token; the token's own index if there is none
};

struct TokenizedSource {
  std::string_view text;
  std::vector<Token> tokens;
  /// The names of files as the line markers spell them: quoted and escaped.
  std::vector<std::string> files;

  std::string_view spelling(std::size_t token) const { return spelling(tokens[token]); }
  std::string_view spelling(const Token& token) const { return text.substr(token.begin, token.end - token.begin); }
};

/// Splits preprocessed text, which contains line markers, into tokens. Returns only the tokens of the user's source and
/// headers, not those of the prelude or of system headers. `::` and `->` are one token each; any other punctuation is one
/// token per character. Pragmas and comments are skipped. `text` must outlive the result and be shorter than 4 GiB.
TokenizedSource tokenize(std::string_view text);

/// Converts a file's name as spelled in a line marker to its plain form.
std::string file_name(std::string_view quoted);

}  // namespace weir::kernels
