// SPDX-License-Identifier: Apache-2.0
#include "core/abi_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace weir::detail {
namespace {

constexpr std::size_t named = 4;  // differences that a message names

struct Word {
  std::string_view key, value;
};

std::vector<Word> words_of(std::string_view text) {
  std::vector<Word> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    const std::size_t equals = std::min(word.find('='), word.size());
    words.push_back({word.substr(0, equals), word.substr(equals)});
  }
  return words;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 200));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

AbiDifference abi_difference(std::string_view theirs, std::string_view ours) {
  const std::vector<Word> their_words = words_of(theirs), our_words = words_of(ours);
  std::map<std::string_view, std::string_view> their_values, our_values;
  for (const Word& word : their_words) their_values.emplace(word.key, word.value);
  for (const Word& word : our_words) our_values.emplace(word.key, word.value);

  AbiDifference result;
  std::size_t found = 0;
  const auto add = [&](std::string_view key) {
    const auto their = their_values.find(key), our = our_values.find(key);
    const bool both = their != their_values.end() && our != our_values.end();
    if ((both && their->second == our->second) || found++ >= named) return;
    const char* const separator = found == 1 ? "" : ", ";
    const std::string name = printable(key);
    result.theirs += separator + (their != their_values.end() ? name + printable(their->second) : "no " + name);
    result.ours += separator + (our != our_values.end() ? name + printable(our->second) : "no " + name);
  };
  for (const Word& word : our_words) add(word.key);
  for (const Word& word : their_words) {
    if (!our_values.contains(word.key)) add(word.key);
  }
  if (found > named) {
    const std::string rest = fmt::format(" ({} more differ)", found - named);
    result.theirs += rest;
    result.ours += rest;
  }
  return result;
}

}  // namespace weir::detail
