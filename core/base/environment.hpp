// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "weir/plugin/support.hpp"

/// Errors and lists of environment variables.
namespace weir::detail {

/// Throws `invalid_environment`: "reading VARIABLE='value': cause; remedy".
[[noreturn]] void throw_invalid_environment(std::string_view variable, std::string_view value, std::string_view detail);

/// Splits a list. Throws `invalid_environment` for an empty value or an empty element, with the element's number. `remedy`:
/// the remedy in the message ("list folders separated by single colons").
std::vector<std::string_view> split_list(std::string_view variable, std::string_view value, char separator,
                                         std::string_view remedy);

/// Throws `invalid_environment` if WEIR_LOG does not parse.
void check_log_variable();

}  // namespace weir::detail
