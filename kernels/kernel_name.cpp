// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_name.hpp"

#include <algorithm>
#include <cctype>

#include "kernels/lexer.hpp"

namespace weir::kernels {

std::string normalized_name(std::string_view name) {
  const TokenizedSource source = tokenize(name);
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string text;
  for (const Token& token : source.tokens) {
    std::string_view word = source.spelling(token);
    if (word == "int" && (text.ends_with("unsigned") || text.ends_with("long") || text.ends_with("short"))) continue;
    if (token.kind == Token::Kind::number) {
      while (word.size() > 1 && std::string_view("uUlL").find(word.back()) != std::string_view::npos) word.remove_suffix(1);
    }
    if (!text.empty() && is_word(text.back()) && is_word(word[0])) text += ' ';
    text += word;
  }
  if (text.starts_with("&")) text.erase(0, 1);
  if (text.starts_with("::")) text.erase(0, 2);
  return text;
}

std::string variable_symbol(std::string_view name) {
  if (name.starts_with("::")) name.remove_prefix(2);
  if (name.find("::") == name.npos) return std::string(name);
  std::string symbol = "_ZN";
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find("::"));
    symbol += std::to_string(part.size());
    symbol += part;
    name.remove_prefix(std::min(part.size() + 2, name.size()));
  }
  return symbol + 'E';
}

}  // namespace weir::kernels
