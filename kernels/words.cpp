// SPDX-License-Identifier: Apache-2.0
#include "kernels/words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/one_of.hpp"

namespace weir::kernels {
namespace {

constexpr std::string_view long_operators[] = {"<<=", ">>=", "...", "->*", "<=>", "++", "--", "&&", "||", "==", "!=",
                                               "<=",  ">=",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "<<"};

// Operators that may be written as words.
constexpr std::pair<std::string_view, std::string_view> spelled_operators[] = {
    {"and", "&&"},  {"or", "||"},     {"not", "!"},    {"bitand", "&"},  {"bitor", "|"},  {"xor", "^"},
    {"compl", "~"}, {"and_eq", "&="}, {"or_eq", "|="}, {"xor_eq", "^="}, {"not_eq", "!="}};

bool opens(const Word& word) {
  return word.kind == Token::Kind::punctuation && (word.is("(") || word.is("[") || word.is("{"));
}
bool closes(const Word& word) {
  return word.kind == Token::Kind::punctuation && (word.is(")") || word.is("]") || word.is("}"));
}

}  // namespace

Words words_of(const TokenizedSource& source, std::size_t first, std::size_t last) {
  Words words;
  for (std::size_t i = first; i < last;) {
    const Token& token = source.tokens[i];
    Word word{token.kind, std::string(source.spelling(token)), static_cast<std::uint32_t>(i), no_variable};
    std::size_t end = i + 1;
    if (token.kind == Token::Kind::punctuation) {
      const std::string_view text = source.text.substr(token.begin, 3);
      for (const std::string_view op : long_operators) {
        if (!text.starts_with(op)) continue;
        std::size_t next = i;
        while (next < last && source.tokens[next].begin < token.begin + op.size()) ++next;
        if (source.tokens[next - 1].end != token.begin + op.size()) continue;
        word.text = op;
        end = next;
        break;
      }
    }
    for (const auto& [spelled, op] : spelled_operators) {
      if (token.kind == Token::Kind::identifier && word.is(spelled))
        word = {Token::Kind::punctuation, std::string(op), word.token, no_variable};
    }
    words.push_back(std::move(word));
    i = end;
  }
  return words;
}

Words made_up(std::string_view text, std::uint32_t at) {
  const TokenizedSource source = tokenize(text);
  Words words = words_of(source, 0, source.tokens.size());
  for (Word& word : words) word.token = at;
  return words;
}

bool is_at(const Words& words, std::size_t i, std::string_view text) { return i < words.size() && words[i].is(text); }

std::size_t closing(const Words& words, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < words.size(); ++i) {
    if (opens(words[i])) ++depth;
    if (closes(words[i]) && --depth == 0) return i;
  }
  return words.size();
}

std::size_t opening(const Words& words, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (words[i].is(")")) ++depth;
    if (words[i].is("(") && --depth == 0) return i;
  }
  return 0;
}

std::size_t closing_angle(const Words& words, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < words.size(); ++i) {
    const Word& word = words[i];
    if (word.kind != Token::Kind::punctuation) continue;
    if (word.is("(") || word.is("[")) {
      i = closing(words, i);
    } else if (closes(word) || word.is("{") || word.is(";") || word.is("&&") || word.is("||") || is_assignment(word.text)) {
      return 0;
    } else if (word.is("<")) {
      ++depth;
    } else if (word.is(">") && --depth == 0) {
      return i;
    }
  }
  return 0;
}

std::size_t after(const Words& words, std::size_t i) {
  return opens(words[i]) ? std::min(closing(words, i) + 1, words.size()) : i + 1;
}

std::vector<Words> split_at_commas(const Words& words) {
  std::vector<Words> parts;
  if (words.empty()) return parts;
  parts.emplace_back();
  for (std::size_t i = 0; i < words.size();) {
    if (words[i].is(",") && words[i].kind == Token::Kind::punctuation) {
      parts.emplace_back();
      ++i;
      continue;
    }
    std::size_t end = after(words, i);
    if (words[i].is("<") && i > 0 && words[i - 1].is_identifier()) {
      if (const std::size_t close = closing_angle(words, i)) end = close + 1;
    }
    for (; i < end; ++i) parts.back().push_back(words[i]);
  }
  return parts;
}

bool can_name_variable(const Words& words, std::size_t i) {
  return words[i].is_identifier() && !(i > 0 && (words[i - 1].is(".") || words[i - 1].is("->") || words[i - 1].is("::"))) &&
         !is_at(words, i + 1, "::");
}

bool is_prefix(const Words& words, std::size_t i) {
  if (i == 0) return true;
  const Word& before = words[i - 1];
  if (before.kind != Token::Kind::punctuation) return before.is("return") || before.is("case");
  return !before.is(")") && !before.is("]") && !before.is("}");
}

bool is_assignment(std::string_view text) {
  constexpr std::string_view assignments[] = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
  return one_of(text, assignments);
}

bool has_loose_operator(const Words& words) {
  for (std::size_t i = 0; i < words.size(); i = after(words, i)) {
    if (is_assignment(words[i].text)) return true;
    for (const char* text : {"?", ":", ",", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||"}) {
      if (words[i].is(text)) return true;
    }
  }
  return false;
}

std::string text_of(const Words& words) {
  std::string text;
  for (const Word& word : words) text.append(text.empty() ? "" : " ").append(word.text);
  return text;
}

bool contains(const Words& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](const Word& word) { return word.is(text); });
}

Words slice(const Words& words, std::size_t first, std::size_t last) {
  return {words.begin() + static_cast<std::ptrdiff_t>(first), words.begin() + static_cast<std::ptrdiff_t>(last)};
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

bool is_keyword(std::string_view text) {
  constexpr std::string_view keywords[] = {
      "if", "else", "for", "while", "do", "switch", "case", "default", "return", "break", "continue", "goto",
      "sizeof", "alignof", "new", "delete", "this", "true", "false", "nullptr", "operator", "static_cast",
      "const_cast", "reinterpret_cast", "typedef", "using", "template", "class", "enum", "union", "asm", "__asm__",
      "throw", "try", "catch", "namespace", "public", "private", "protected", "static_assert", "decltype", "noexcept",
      "co_return"};
  return one_of(text, keywords);
}

bool is_type_word(std::string_view text) {
  constexpr std::string_view words[] = {
      "int", "float", "double", "char", "bool", "void", "auto", "unsigned", "signed", "long", "short", "const",
      "constexpr", "volatile", "static", "extern", "register", "struct", "class", "union", "enum",
      "typename", "inline", "wchar_t", "char16_t", "char32_t", "__shared__", "__restrict__", "__restrict",
      "__device__", "__constant__", "__int128"};
  return one_of(text, words);
}

}  // namespace weir::kernels
