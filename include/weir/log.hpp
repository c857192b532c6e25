// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "weir/export.hpp"
#include "weir/unique_function.hpp"

/// Weir's log: warnings that cannot be reported as errors, and details that the environment variable WEIR_LOG enables.
namespace weir {

/// The severity of a log line.
enum class LogLevel { error, warn, info, debug };
/// Returns the level's name: "warn".
WEIR_API std::string_view to_string(LogLevel) noexcept;

/// A line of the log. The texts are valid during the call.
struct LogRecord {
  LogLevel level;
  std::string_view part;     ///< the part of Weir that logged the line: "core", "host", "cuda", "hip", "race", …
  std::string_view message;  ///< the line, without a line end
};

/// A function that receives log lines.
using LogSink = UniqueFunction<void(const LogRecord&)>;

/// Passes log lines to `sink` from now on, instead of writing them to standard error; an empty `sink` restores standard
/// error. `sink` is called on any thread, but never concurrently. It must not call Weir. If it throws, the line is written
/// to standard error. When this function returns, the previous sink has been destroyed, and threads no longer run it.
WEIR_API void set_log_sink(LogSink sink);
/// Sets the most detailed level that is logged from now on, like WEIR_LOG.
WEIR_API void set_log_level(LogLevel level) noexcept;

}  // namespace weir
