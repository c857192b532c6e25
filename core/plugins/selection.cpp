// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/error_text.hpp"
#include "core/base/near_match.hpp"
#include "weir/error.hpp"

// Implements selection.hpp.
namespace weir::detail {
namespace {

constexpr const char* backend_variable = "WEIR_BACKEND";

std::string spelling(std::span<const std::string_view> known) {
  return fmt::format("set it to auto, one name, or names separated by single commas (known: {})", fmt::join(known, ", "));
}

}  // namespace

bool is_backend_name(std::string_view name) noexcept {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto other = [](char c) { return (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && lower(name[0]) && name != "auto" &&
         std::all_of(name.begin(), name.end(), [&](char c) { return lower(c) || other(c); });
}

Selection parse_selection(const std::optional<std::string>& value, std::span<const std::string_view> known) {
  Selection selection;
  if (!value || *value == "auto") {
    selection.automatic = true;
    selection.names.assign(known.begin(), known.end());
    return selection;
  }
  const auto throw_error = [&](std::string_view cause, std::string_view remedy) {
    throw_invalid_environment(backend_variable, *value, fmt::format("{}; {}", cause, remedy));
  };
  const std::string remedy = spelling(known);
  for (const std::string_view name : split_list(backend_variable, *value, ',', remedy)) {
    if (name == "auto") {
      throw_error("'auto' cannot be in a list",
                  fmt::format("list the backends in order, such as {}", fmt::join(known, ",")));
    }
    if (!is_backend_name(name)) {
      const std::string meant = meant_backend(name, known);
      throw_error(fmt::format("'{}' is not a valid name of a backend; names have the form [a-z][a-z0-9_]*", escaped(name)),
                  meant.empty() ? remedy : fmt::format("did you mean {}?", meant));
    }
    if (std::find(selection.names.begin(), selection.names.end(), name) != selection.names.end()) {
      throw_error(fmt::format("'{}' is listed twice", name), remedy);
    }
    selection.names.emplace_back(name);
  }
  return selection;
}

std::string meant_backend(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::pair<std::string_view, std::string_view> other_names[] = {
      {"cpu", "'host'"}, {"gpu", "'cuda' or 'hip'"}, {"nvidia", "'cuda'"}, {"amd", "'hip'"}, {"rocm", "'hip'"},
  };
  for (const auto& [other, meant] : other_names) {
    if (edit_distance(name, other) == 0) return std::string(meant);
  }
  const std::string_view nearest = nearest_name(name, known);
  return nearest.empty() ? "" : fmt::format("'{}'", nearest);
}

DeviceName parse_device_name(std::string_view text, std::span<const std::string_view> known) {
  const std::size_t colon = text.find(':');
  DeviceName name{text.substr(0, colon), 0};
  bool valid = is_backend_name(name.backend);
  if (valid && colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const char* const end = digits.data() + digits.size();
    const auto [rest, error] = std::from_chars(digits.data(), end, name.ordinal);
    valid = error == std::errc() && rest == end && digits[0] != '-';
  }
  if (!valid) {
    const std::string meant = is_backend_name(name.backend) ? "" : meant_backend(name.backend, known);
    throw Error(
        Errc::invalid_argument, "weir::device", "",
        fmt::format(
            "'{}' is not the name of a device; {}write a backend's name, or its name and an ordinal: 'host', 'cuda:1'",
            escaped(text), meant.empty() ? "" : fmt::format("did you mean {}? ", meant)));
  }
  return name;
}

}  // namespace weir::detail
