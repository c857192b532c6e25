// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/export.hpp"

/// For those who write backends: the environment, the log, and marking host functions.
namespace weir::support {

/// An environment variable, read with secure_getenv: nothing in a process with raised privileges.
WEIR_API std::optional<std::string> environment(const char* name);
/// A whole number between `least` and `greatest`; `fallback` where the variable is not set.
/// Throws `invalid_environment`, naming variable, value and range.
WEIR_API long environment_number(const char* name, long fallback, long least, long greatest);
/// An absolute path; nothing where the variable is not set. Throws `invalid_environment` for an empty or relative one.
WEIR_API std::optional<std::string> environment_path(const char* name);

enum class LogLevel { error, warn, info, debug };
/// Whether WEIR_LOG asks for lines of this level.
WEIR_API bool log_enabled(LogLevel) noexcept;
/// One line on standard error, "weir warn: …", if the level is asked for. Never throws. Any thread.
WEIR_API void log(LogLevel, std::string_view line) noexcept;

/// To be held by a backend around a call of the user's host function or callback: calls into Weir from within are refused,
/// and objects whose last owner goes within are ended later, on another thread.
class WEIR_API HostFunctionScope {
 public:
  HostFunctionScope() noexcept;
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

 private:
  bool outer_;
};

}  // namespace weir::support
