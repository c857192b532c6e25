// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Parses WEIR_BACKEND and the names of devices, such as "cuda:1".
namespace weir::detail {

/// The value of WEIR_BACKEND.
struct Selection {
  bool automatic = false;          ///< the value is `auto`: `names` are then all known names, in their order
  std::vector<std::string> names;  ///< backends in order of preference, at least one and without duplicates
};

/// Whether `name` is valid for a backend: `[a-z][a-z0-9_]*`, and not `auto`.
bool is_backend_name(std::string_view name) noexcept;

/// Parses WEIR_BACKEND:
///
///     value := "auto" | NAME ("," NAME)*
///     NAME  := [a-z][a-z0-9_]*
///
/// Without a value, the result is that of `auto`. Does not check whether the backends exist. Throws `invalid_environment`
/// for an empty value or element, a repeated name, `auto` in a list, and invalid characters. The error lists the names in
/// `known`.
Selection parse_selection(const std::optional<std::string>& value, std::span<const std::string_view> known);

/// Guesses which backend a wrong `name` means, for a suggestion in an error: a known name with a similar spelling, or the
/// equivalent of another framework's name. Returns it in quotes ("'host'" for "cpu", "'cuda' or 'hip'" for "gpu"), or "".
std::string meant_backend(std::string_view name, std::span<const std::string_view> known);

/// The parts of a device's name, "cuda:1".
struct DeviceName {
  std::string_view backend;
  int ordinal = 0;
};

/// Parses `NAME` or `NAME:ORDINAL`. Throws `invalid_argument` for a malformed name, and suggests one of `known`.
DeviceName parse_device_name(std::string_view text, std::span<const std::string_view> known);

}  // namespace weir::detail
