// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/lexer.hpp"

/// Pieces of a source as the parser hands them around: lists of words, each of which knows where it comes from.
namespace weir::kernels {

inline constexpr std::uint32_t no_token = std::numeric_limits<std::uint32_t>::max();
inline constexpr int no_variable = -1;

struct Word {
  Token::Kind kind = Token::Kind::identifier;
  std::string text;
  std::uint32_t token = no_token;  ///< the token it comes from; none for a word that was made up
  int variable = no_variable;      ///< the function's variable that it names, once names are resolved

  bool is(std::string_view other) const { return text == other; }
  bool is_identifier() const { return kind == Token::Kind::identifier; }
};
using Words = std::vector<Word>;

/// The words of the tokens `[first, last)`. Operators of several characters become one word, except `>>`, which may close
/// two lists of template arguments.
Words words_of(const TokenizedSource& source, std::size_t first, std::size_t last);
/// Words that were made up, at the place of the token `at`, if any.
Words made_up(std::string_view text, std::uint32_t at = no_token);

/// Whether the word at `i` is there and reads `text`.
bool is_at(const Words& words, std::size_t i, std::string_view text);
/// The index of the bracket that closes the one at `open`; the number of words if there is none.
std::size_t closing(const Words& words, std::size_t open);
/// The index of the parenthesis that the one at `close` closes.
std::size_t opening(const Words& words, std::size_t close);
/// The index of the `>` that closes the `<` at `open`, if what lies between can be template arguments; 0 if it cannot.
std::size_t closing_angle(const Words& words, std::size_t open);
/// The index behind what begins at `i`: a group of brackets, or one word.
std::size_t after(const Words& words, std::size_t i);
/// Splits at the commas that are inside no bracket and no template arguments. No words give no parts.
std::vector<Words> split_at_commas(const Words& words);
/// Whether the word at `i` can name a variable: an identifier that is no member and not qualified.
bool can_name_variable(const Words& words, std::size_t i);
/// Whether the operator at `i` stands before its operand: `*p`, `&x`, `-x`.
bool is_prefix(const Words& words, std::size_t i);
bool is_assignment(std::string_view text);
/// Whether an operator that binds as a comparison does, or less tightly, stands in no bracket.
bool has_loose_operator(const Words& words);
/// The words with single spaces.
std::string text_of(const Words& words);
bool contains(const Words& words, std::string_view text);
Words slice(const Words& words, std::size_t first, std::size_t last);
void append(Words& words, const Words& more);
bool is_keyword(std::string_view text);
/// A word that begins or continues the name of a built-in type, or qualifies one.
bool is_type_word(std::string_view text);

/// What the splitter does not take. `what()` is the reason alone.
class Refused : public std::runtime_error {
 public:
  Refused(std::uint32_t at, const std::string& reason) : std::runtime_error(reason), token(at) {}
  std::uint32_t token;
};

}  // namespace weir::kernels
