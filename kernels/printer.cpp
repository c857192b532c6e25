// SPDX-License-Identifier: Apache-2.0
#include "kernels/printer.hpp"

#include <fmt/format.h>

namespace weir::kernels {

Printer& Printer::text(std::string_view text) {
  if (!out_.empty() && out_.back() != ' ' && out_.back() != '\n' && !text.empty()) out_ += ' ';
  out_ += text;
  last_ = no_token;
  return *this;
}

void Printer::go_to(const Token& token) {
  if (token.line == line_ && token.file == file_) return;
  out_ += fmt::format("\n# {} {}\n", token.line, source_.files[token.file]);
  line_ = token.line;
  file_ = token.file;
  line_start_ = out_.size();
  last_ = no_token;
}

Printer& Printer::at(std::uint32_t token) {
  if (token != no_token && token < source_.tokens.size()) go_to(source_.tokens[token]);
  return *this;
}

Printer& Printer::word(const Word& word) {
  if (word.token == no_token || word.token >= source_.tokens.size()) return text(word.text);
  const Token& token = source_.tokens[word.token];
  go_to(token);
  const std::size_t column = out_.size() - line_start_;
  const bool adjacent = last_ != no_token && last_ + 1 == word.token && source_.tokens[last_].end == token.begin;
  if (column < token.column && token.column < 500) {
    out_.append(token.column - column, ' ');
  } else if (!adjacent && column > 0 && out_.back() != ' ') {
    out_ += ' ';
  }
  out_ += word.text;
  // Of a word of several tokens, the last one.
  last_ = word.token;
  while (last_ + 1 < source_.tokens.size() && source_.tokens[last_].end < token.begin + word.text.size()) ++last_;
  // Text with line ends in it, as raw strings have: the next word starts anew.
  if (word.text.find('\n') != std::string::npos) line_ = 0;
  return *this;
}

Printer& Printer::words(const Words& list) {
  for (const Word& w : list) word(w);
  return *this;
}

std::string place_of(const TokenizedSource& source, std::uint32_t token) {
  if (token >= source.tokens.size()) return "the source";
  const Token& t = source.tokens[token];
  return fmt::format("{}:{}", file_name(source.files[t.file]), t.line);
}

}  // namespace weir::kernels
