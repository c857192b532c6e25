// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weir::model {

/// Reads a tool's variable: words and "key=value" pairs, separated by commas. `take` returns false for an unknown pair; this
/// throws `invalid_environment` with `is_none` ("is neither throw nor status=NUMBER"). `value` is empty for a single word.
void read_options(const char* variable, std::string_view is_none,
                  const std::function<bool(std::string_view key, std::string_view value)>& take);
/// Reads an exit status, 0 to 255. Returns false if the text is not one.
bool read_status(std::string_view text, int& status);

/// Replaces each `%p` in a file name by the process's number, for programs with several processes.
std::string with_process(std::string_view name);

}  // namespace weir::model
