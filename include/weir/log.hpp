// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/export.hpp"
#include "weir/unique_function.hpp"

/// Weir's log: warnings that no error can carry, and what WEIR_LOG asks for.
namespace weir {

/// How much a line of the log matters.
enum class LogLevel { error, warn, info, debug };
/// "warn"
WEIR_API std::string_view to_string(LogLevel) noexcept;

/// A line of the log. The texts are valid during the call.
struct LogRecord {
  LogLevel level;
  std::string_view part;     ///< what wrote it: "core", "host", "cuda", "hip", "race", …
  std::string_view message;  ///< one line, without a line end
};

/// Takes lines of the log.
using LogSink = UniqueFunction<void(const LogRecord&)>;

/// Gives lines of the log to `sink` from now on, in place of standard error; an empty one undoes that. Lines come from any
/// thread, one at a time. `sink` must not call Weir, and a line that it throws for goes to standard error. When this
/// returns, the former sink is not running and is destroyed.
WEIR_API void set_log_sink(LogSink sink);
/// Lines up to this level are logged from now on, as WEIR_LOG says it. `part`: those of this part only; empty: those of all
/// parts that are not set by name.
WEIR_API void set_log_level(LogLevel level, std::string_view part = {});

}  // namespace weir
