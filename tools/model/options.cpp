// SPDX-License-Identifier: Apache-2.0
#include "tools/model/options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::model {

void read_options(const char* variable, std::string_view is_none,
                  const std::function<bool(std::string_view key, std::string_view value)>& take) {
  const std::optional<std::string> text = support::environment(variable);
  if (!text) return;
  for (std::size_t begin = 0; begin <= text->size();) {
    const std::size_t end = std::min(text->find(',', begin), text->size());
    const std::string_view word = std::string_view(*text).substr(begin, end - begin);
    const std::size_t equals = std::min(word.find('='), word.size());
    if (!take(word.substr(0, equals), word.substr(std::min(equals + 1, word.size())))) {
      throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, *text), "",
                  fmt::format("'{}' {}; separate them by single commas", word, is_none));
    }
    begin = end + 1;
  }
}

bool read_status(std::string_view text, int& status) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, status);
  return error == std::errc() && rest == end && status >= 0 && status < 256;
}

std::string with_process(std::string_view name) {
  const std::string number = std::to_string(::getpid());
  std::string result(name);
  for (std::size_t at = 0; (at = result.find("%p", at)) != std::string::npos; at += number.size())
    result.replace(at, 2, number);
  return result;
}

}  // namespace weir::model
