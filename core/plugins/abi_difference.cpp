// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/abi_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

// Implements abi_difference.hpp.
namespace weir::detail {
namespace {

constexpr std::size_t named = 4;  // the maximum number of differences in a message

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;  // pairs of "key" and "=value"

Fields fields_of(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), field.size() + 1));
    const std::size_t equals = std::min(field.find('='), field.size());
    if (!field.empty()) fields.emplace_back(field.substr(0, equals), field.substr(equals));
  }
  return fields;
}

/// The field `key` as "key=value"; "no key" if it is missing.
std::string entry(const Fields& fields, std::string_view key) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& field) { return field.first == key; });
  return found != fields.end() ? printable(key) + printable(found->second) : "no " + printable(key);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 200));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

AbiDifference abi_difference(std::string_view theirs, std::string_view ours) {
  const Fields their_fields = fields_of(theirs), our_fields = fields_of(ours);
  AbiDifference result;
  std::size_t found = 0;
  const auto add = [&](std::string_view key) {
    const std::string their = entry(their_fields, key), our = entry(our_fields, key);
    if (their == our || found++ >= named) return;
    const char* const separator = found == 1 ? "" : ", ";
    result.theirs += separator + their;
    result.ours += separator + our;
  };
  for (const auto& field : our_fields) add(field.first);
  for (const auto& field : their_fields) {
    if (entry(our_fields, field.first).starts_with("no ")) add(field.first);
  }
  if (found > named) {
    const std::string rest = fmt::format(" ({} more differ)", found - named);
    result.theirs += rest;
    result.ours += rest;
  }
  return result;
}

}  // namespace weir::detail
