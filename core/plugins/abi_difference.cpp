// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/abi_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

constexpr std::size_t named = 4;  // differences that a message names

using Words = std::vector<std::pair<std::string_view, std::string_view>>;  // key and "=value"

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t equals = std::min(word.find('='), word.size());
    if (!word.empty()) words.emplace_back(word.substr(0, equals), word.substr(equals));
  }
  return words;
}

/// "key=value" as `words` have it, or "no key".
std::string entry(const Words& words, std::string_view key) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.first == key; });
  return found != words.end() ? printable(key) + printable(found->second) : "no " + printable(key);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 200));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

AbiDifference abi_difference(std::string_view theirs, std::string_view ours) {
  const Words their_words = words_of(theirs), our_words = words_of(ours);
  AbiDifference result;
  std::size_t found = 0;
  const auto add = [&](std::string_view key) {
    const std::string their = entry(their_words, key), our = entry(our_words, key);
    if (their == our || found++ >= named) return;
    const char* const separator = found == 1 ? "" : ", ";
    result.theirs += separator + their;
    result.ours += separator + our;
  };
  for (const auto& word : our_words) add(word.first);
  for (const auto& word : their_words) {
    if (entry(our_words, word.first).starts_with("no ")) add(word.first);
  }
  if (found > named) {
    const std::string rest = fmt::format(" ({} more differ)", found - named);
    result.theirs += rest;
    result.ours += rest;
  }
  return result;
}

}  // namespace weir::detail
