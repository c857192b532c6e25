// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

/// Reads the environment variables of tools.
namespace weir::model {

/// Reads a tool's environment variable: words and "key=value" pairs, separated by commas. Calls `take` for each one; `value`
/// is empty for a single word. If `take` returns false, throws `invalid_environment` with the text `is_none`, such as "is
/// neither throw nor status=NUMBER".
void read_options(const char* variable, std::string_view is_none,
                  const std::function<bool(std::string_view key, std::string_view value)>& take);
/// Reads an exit status, 0 to 255. Returns false if the text is not one.
bool read_status(std::string_view text, int& status);

/// Replaces each `%p` in a file name by the process number, so that each process of a program writes its own file.
std::string with_process(std::string_view name);

}  // namespace weir::model
