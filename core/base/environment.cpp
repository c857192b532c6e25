// SPDX-License-Identifier: Apache-2.0
#include "core/base/environment.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "weir/error.hpp"

// Reads environment variables, and checks and splits their values.
namespace weir {
namespace detail {

void throw_invalid_environment(std::string_view variable, std::string_view value, std::string_view detail) {
  throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, value), "", detail);
}

std::vector<std::string_view> split_list(std::string_view variable, std::string_view value, char separator,
                                         std::string_view remedy) {
  if (value.empty()) {
    throw_invalid_environment(variable, value, fmt::format("it is set but empty; unset it, or {}", remedy));
  }
  std::vector<std::string_view> elements;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(separator, begin), value.size());
    elements.push_back(value.substr(begin, end - begin));
    if (elements.back().empty()) {
      throw_invalid_environment(variable, value, fmt::format("element {} is empty; {}", elements.size(), remedy));
    }
    begin = end + 1;
  }
  return elements;
}

}  // namespace detail

namespace support {

std::optional<std::string> environment(const char* name) {
  const char* value = ::secure_getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

long environment_number(const char* name, long fallback, long least, long greatest) {
  const std::optional<std::string> value = environment(name);
  if (!value) return fallback;
  long number = 0;
  const char* const end = value->data() + value->size();
  const auto [rest, error] = std::from_chars(value->data(), end, number);
  if (error == std::errc::invalid_argument || rest != end) {
    detail::throw_invalid_environment(
        name, *value,
        fmt::format("it is not a whole number; set it to a number from {} to {}, or unset it", least, greatest));
  }
  if (error == std::errc::result_out_of_range || number < least || number > greatest) {
    detail::throw_invalid_environment(name, *value,
                                      fmt::format("it is out of range; set it to a number from {} to {}", least, greatest));
  }
  return number;
}

std::optional<std::string> environment_path(const char* name) {
  std::optional<std::string> value = environment(name);
  if (value && !value->starts_with('/')) {
    detail::throw_invalid_environment(name, *value,
                                      value->empty() ? "it is set but empty; unset it, or set it to an absolute path"
                                                     : "it is not an absolute path; set it to a path that starts with '/'");
  }
  return value;
}

}  // namespace support
}  // namespace weir
