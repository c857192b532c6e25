// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/export.hpp"
#include "weir/unique_function.hpp"

/// Weir's log: warnings that no error can report, and the lines that WEIR_LOG enables.
namespace weir {

/// The severity of a log line.
enum class LogLevel { error, warn, info, debug };
/// "warn"
WEIR_API std::string_view to_string(LogLevel) noexcept;

/// A line of the log. The texts are valid during the call.
struct LogRecord {
  LogLevel level;
  std::string_view part;     ///< the part that wrote it: "core", "host", "cuda", "hip", "race", …
  std::string_view message;  ///< one line, without a line end
};

/// Receives log lines.
using LogSink = UniqueFunction<void(const LogRecord&)>;

/// From now on, passes log lines to `sink` instead of standard error; an empty `sink` restores standard error. Lines come
/// from any thread, one at a time. `sink` must not call Weir; if it throws, the line goes to standard error. When this
/// returns, the previous sink is not running and has been destroyed.
WEIR_API void set_log_sink(LogSink sink);
/// Sets the highest level that is logged from now on, like WEIR_LOG. `part`: only for this part; empty: for all parts
/// without a level of their own.
WEIR_API void set_log_level(LogLevel level, std::string_view part = {});

}  // namespace weir
