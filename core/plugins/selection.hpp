// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Parses names of backends and devices as the user writes them.
namespace weir::detail {

/// The parsed WEIR_BACKEND.
struct Selection {
  bool automatic = false;          ///< `auto`: `names` are all known names in their order
  std::vector<std::string> names;  ///< in order of preference; not empty, no duplicates
};

/// Whether `name` is valid for a backend: `[a-z][a-z0-9_]*`, and not `auto`.
bool is_backend_name(std::string_view name) noexcept;

/// Parses WEIR_BACKEND:
///
///     value := "auto" | NAME ("," NAME)*
///     NAME  := [a-z][a-z0-9_]*
///
/// No value means `auto`. Does not check whether the backends exist. Throws `invalid_environment`, which lists the `known`
/// names, for an empty value or element, a repeated name, `auto` in a list, and invalid characters.
Selection parse_selection(const std::optional<std::string>& value, std::span<const std::string_view> known);

/// Guesses the backend that `name` means, in quotes, or returns "": a known name with a similar spelling, or the equivalent
/// of another framework's name ("cpu": 'host', "gpu": 'cuda' or 'hip').
std::string meant_backend(std::string_view name, std::span<const std::string_view> known);

/// The parts of a device's name, "cuda:1".
struct DeviceName {
  std::string_view backend;
  int ordinal = 0;
};

/// Parses `NAME` or `NAME:ORDINAL`. Throws `invalid_argument` for a malformed name, and suggests one of `known`.
DeviceName parse_device_name(std::string_view text, std::span<const std::string_view> known);

}  // namespace weir::detail
