// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "weir/plugin/support.hpp"

/// Functions that parse the values of environment variables and throw errors for invalid ones.
namespace weir::detail {

/// Throws `invalid_environment`: "reading VARIABLE='value': cause; remedy".
[[noreturn]] void throw_invalid_environment(std::string_view variable, std::string_view value, std::string_view detail);

/// Splits `value` at each `separator`. Throws `invalid_environment` for an empty value, and for an empty element, with its
/// number. `remedy`: the remedy for the message ("list folders separated by single colons").
std::vector<std::string_view> split_list(std::string_view variable, std::string_view value, char separator,
                                         std::string_view remedy);

/// Throws `invalid_environment` if WEIR_LOG does not parse.
void check_log_variable();

}  // namespace weir::detail
