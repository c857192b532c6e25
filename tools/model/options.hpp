// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weir::model {

/// Reads a tool's variable, words and "key=value" that commas separate. `take` returns false for a pair that it does not
/// know; then `invalid_environment` says that the word `is_none` ("is neither throw nor status=NUMBER"). `value` is empty
/// for a word alone.
void read_options(const char* variable, std::string_view is_none,
                  const std::function<bool(std::string_view key, std::string_view value)>& take);
/// The status that a program exits with, 0 to 255. False if it is none.
bool read_status(std::string_view text, int& status);

/// The file's name with the process's number in place of each `%p`, for programs of several processes.
std::string with_process(std::string_view name);

}  // namespace weir::model
