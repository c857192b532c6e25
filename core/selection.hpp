// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How a user names backends and devices, before anything is opened.
namespace weir::detail {

/// What WEIR_BACKEND asks for.
struct Selection {
  bool automatic = false;          ///< `auto`: `names` are the known ones in their order
  std::vector<std::string> names;  ///< in order of preference; never empty, none twice
};

/// Whether a backend may be called so: `[a-z][a-z0-9_]*`, and not `auto`.
bool is_backend_name(std::string_view name) noexcept;

/// Parses WEIR_BACKEND:
///
///     value := "auto" | NAME ("," NAME)*
///     NAME  := [a-z][a-z0-9_]*
///
/// `auto` stands alone: a list says its order itself. No value means `auto`. Whether there is a backend of each name is not
/// asked here. Throws `invalid_environment`, listing the `known` names, for an empty value or element, a name twice, `auto`
/// in a list, and characters that no name has.
Selection parse_selection(const std::optional<std::string>& value, std::span<const std::string_view> known);

/// The backend that was probably meant by `name`, in quotes, or "" if none is near: a known name that is spelt nearly so, or
/// what other frameworks call a device ("cpu": 'host', "gpu": 'cuda' or 'hip').
std::string meant_backend(std::string_view name, std::span<const std::string_view> known);

/// A device's name, "cuda:1", taken apart.
struct DeviceName {
  std::string_view backend;
  int ordinal = 0;
};

/// Parses `NAME` or `NAME:ORDINAL`. Throws `invalid_argument` for another spelling, and names one of `known` if it was
/// probably meant.
DeviceName parse_device_name(std::string_view text, std::span<const std::string_view> known);

}  // namespace weir::detail
