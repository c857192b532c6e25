// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "weir/backend_support.hpp"

/// What the readers of all environment variables share: one form of error, one form of list.
namespace weir::detail {

/// Throws `invalid_environment`: "reading VARIABLE='value': cause; remedy".
[[noreturn]] void throw_invalid_environment(std::string_view variable, std::string_view value, std::string_view detail);

/// The elements of a list. Throws `invalid_environment` for an empty value and for an empty element, naming its place.
/// `remedy`: what to do instead, as an order ("list folders separated by single colons").
std::vector<std::string_view> split_list(std::string_view variable, std::string_view value, char separator,
                                         std::string_view remedy);

/// WEIR_LOG's level; `warn` where it is not set. Throws `invalid_environment` for another word.
support::LogLevel log_level_from_environment();

}  // namespace weir::detail
