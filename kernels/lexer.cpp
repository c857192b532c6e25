// SPDX-License-Identifier: Apache-2.0
#include "kernels/lexer.hpp"

#include <algorithm>

namespace weir::kernels {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes above 127 are parts of UTF-8 letters.
bool is_word_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || static_cast<unsigned char>(c) >= 128;
}
bool is_word(char c) { return is_word_start(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) { source_.text = text; }

  TokenizedSource run() {
    enter_file("\"\"", "");
    while (position_ < text().size()) step();
    return std::move(source_);
  }

 private:
  std::string_view text() const { return source_.text; }
  char at(std::size_t position) const { return position < text().size() ? text()[position] : '\0'; }

  void step() {
    const char c = at(position_);
    if (c == '\n') {
      ++position_;
      begin_line();
    } else if (is_space(c)) {
      ++position_;
    } else if (c == '#' && at_line_start_) {
      directive();
    } else if (!user_) {
      position_ = line_end();
    } else if (c == '/' && at(position_ + 1) == '/') {
      position_ = line_end();
    } else if (c == '/' && at(position_ + 1) == '*') {
      const std::size_t close = text().find("*/", position_ + 2);
      advance_to(close == std::string_view::npos ? text().size() : close + 2);
    } else {
      at_line_start_ = false;
      token();
    }
  }

  void begin_line() {
    ++line_;
    line_start_ = position_;
    at_line_start_ = true;
  }

  // Moves to `end` over text that may contain line ends, and counts the lines.
  void advance_to(std::size_t end) {
    end = std::min(end, text().size());
    for (; position_ < end; ++position_) {
      if (text()[position_] == '\n') {
        ++line_;
        line_start_ = position_ + 1;
      }
    }
  }

  std::size_t line_end() const { return std::min(text().find('\n', position_), text().size()); }

  // Handles a line that begins with `#`: `# 12 "file" 1 3`, `#line 12 "file"`, or a pragma.
  void directive() {
    const std::string_view line = text().substr(position_, line_end() - position_);
    position_ += line.size();
    std::size_t i = 1;
    while (i < line.size() && is_space(line[i])) ++i;
    if (line.substr(i).starts_with("line")) i += 4;
    while (i < line.size() && is_space(line[i])) ++i;
    if (i == line.size() || !is_digit(line[i])) return;
    std::uint32_t number = 0;
    for (; i < line.size() && is_digit(line[i]); ++i) number = number * 10 + static_cast<std::uint32_t>(line[i] - '0');
    while (i < line.size() && is_space(line[i])) ++i;
    if (i < line.size() && line[i] == '"') {
      std::size_t close = i + 1;
      while (close < line.size() && line[close] != '"') close += line[close] == '\\' ? 2 : 1;
      close = std::min(close + 1, line.size());
      enter_file(line.substr(i, close - i), line.substr(close));
    }
    line_ = number - 1;  // the marker names the number of the line after it
  }

  void enter_file(std::string_view quoted, std::string_view flags) {
    const auto known = std::find(source_.files.begin(), source_.files.end(), quoted);
    file_ = static_cast<std::uint32_t>(known - source_.files.begin());
    if (known == source_.files.end()) {
      const std::string name = file_name(quoted);
      source_.files.emplace_back(quoted);
      users_.push_back(flags.find('3') == std::string_view::npos && name != prelude_file_name &&
                       !name.starts_with(header_folder));
    }
    // Whether a file is the user's depends on its first marker only, because GCC marks the expansion of a system header's
    // macro in the user's file as system code.
    user_ = users_[file_];
  }

  void token() {
    const char c = at(position_);
    if (is_word_start(c)) {
      std::size_t end = position_ + 1;
      while (is_word(at(end))) ++end;
      const std::string_view word = text().substr(position_, end - position_);
      const bool prefix = word == "R" || word == "L" || word == "u" || word == "U" || word == "u8" || word == "LR" ||
                          word == "uR" || word == "UR" || word == "u8R";
      if (prefix && at(end) == '"')
        return add(Token::Kind::string, word.back() == 'R' ? raw_string_end(end) : quoted_end(end));
      if (prefix && at(end) == '\'' && word.back() != 'R') return add(Token::Kind::character, quoted_end(end));
      return add(Token::Kind::identifier, end);
    }
    if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) return add(Token::Kind::number, number_end());
    if (c == '"') return add(Token::Kind::string, quoted_end(position_));
    if (c == '\'') return add(Token::Kind::character, quoted_end(position_));
    const bool behind_minus = position_ > 0 && at(position_ - 1) == '-';  // `n-->0` means n-- > 0
    const bool pair = (c == ':' && at(position_ + 1) == ':') || (c == '-' && at(position_ + 1) == '>' && !behind_minus);
    add(Token::Kind::punctuation, position_ + (pair ? 2 : 1));
    pair_brackets(c);
  }

  // The end of a preprocessing number, such as 0x1p-3f, 1'000 or 1e+9.
  std::size_t number_end() const {
    std::size_t end = position_ + 1;
    for (;; ++end) {
      const char c = at(end);
      const char before = at(end - 1);
      if (is_word(c) || c == '.') continue;
      if ((c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P')) continue;
      if (c == '\'' && is_word(at(end + 1))) continue;
      return end;
    }
  }

  // The end of the literal whose opening quote is at `open`. A literal that is not closed ends with its line.
  std::size_t quoted_end(std::size_t open) const {
    std::size_t end = open + 1;
    while (end < text().size() && text()[end] != text()[open] && text()[end] != '\n') end += text()[end] == '\\' ? 2 : 1;
    end = std::min(end, text().size());
    return end < text().size() && text()[end] == text()[open] ? end + 1 : end;
  }

  std::size_t raw_string_end(std::size_t open) const {
    const std::size_t parenthesis = text().find('(', open);
    if (parenthesis == std::string_view::npos) return text().size();
    const std::string close = ")" + std::string(text().substr(open + 1, parenthesis - open - 1)) + "\"";
    const std::size_t end = text().find(close, parenthesis);
    return end == std::string_view::npos ? text().size() : end + close.size();
  }

  void add(Token::Kind kind, std::size_t end) {
    const auto index = static_cast<std::uint32_t>(source_.tokens.size());
    source_.tokens.push_back({kind, static_cast<std::uint32_t>(position_), static_cast<std::uint32_t>(end), line_,
                              static_cast<std::uint32_t>(position_ - line_start_), file_, index});
    advance_to(end);
  }

  void pair_brackets(char c) {
    const auto index = static_cast<std::uint32_t>(source_.tokens.size() - 1);
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back(index);
    } else if (c == ')' || c == ']' || c == '}') {
      const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open_.empty() || text()[source_.tokens[open_.back()].begin] != opening) return;
      source_.tokens[index].match = open_.back();
      source_.tokens[open_.back()].match = index;
      open_.pop_back();
    }
  }

  TokenizedSource source_;
  std::vector<std::uint32_t> open_;  // open brackets that have no matching token yet
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t file_ = 0;
  std::vector<bool> users_;  // for each file, whether it is the user's
  bool user_ = true;
  bool at_line_start_ = true;
};

}  // namespace

TokenizedSource tokenize(std::string_view text) { return Lexer(text).run(); }

std::string file_name(std::string_view quoted) {
  if (quoted.size() >= 2) quoted = quoted.substr(1, quoted.size() - 2);
  std::string name;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 1 == quoted.size()) {
      name += quoted[i];
    } else if (quoted[i + 1] >= '0' && quoted[i + 1] <= '7') {  // an octal escape, such as \303
      int value = 0, digits = 0;
      while (digits < 3 && i + 1 < quoted.size() && quoted[i + 1] >= '0' && quoted[i + 1] <= '7') {
        value = value * 8 + (quoted[++i] - '0');
        ++digits;
      }
      name += static_cast<char>(value);
    } else {
      name += quoted[++i];
    }
  }
  return name;
}

}  // namespace weir::kernels
