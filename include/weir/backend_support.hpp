// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <optional>
#include <string>
#include <string_view>

#include "weir/export.hpp"
#include "weir/fwd.hpp"

/// For those who write backends: the environment, the log, marking host functions, threads, keeping captures whole.
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
/// One line on standard error, "weir warn: …", made of `line` and `rest`, if the level is asked for. Never throws. Any thread.
WEIR_API void log(LogLevel, std::string_view line, std::string_view rest = {}) noexcept;

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

/// Blocks signals in the calling thread for the rest of its life: all but those that a fault of the thread itself raises,
/// and SIGPROF. Signals are the application's: a thread of a library that took one would keep it from the thread that waits
/// for it, or end the process by it. To be called in threads that a backend does not start itself.
WEIR_API void block_signals() noexcept;

/// Signals blocked, as by `block_signals`, until the end of the scope. To be held by a backend while it starts a thread,
/// which inherits that and so takes no signal from its first moment.
class WEIR_API SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// To be held by a backend around a driver's call that would break every capture on the device (cuCtxSynchronize): captures
/// that begin, and streams that join one, wait for its end. Any thread, but one that holds none yet.
class WEIR_API DeviceWideCall {
 public:
  /// Throws `capture_unsupported` while a capture that was begun through Weir is open on `device`.
  DeviceWideCall(const char* operation, const Device& device);
  ~DeviceWideCall();
  DeviceWideCall(const DeviceWideCall&) = delete;
  DeviceWideCall& operator=(const DeviceWideCall&) = delete;
};

/// Throws `unsupported`: the graph allocates memory, so there can be no second one of it.
[[noreturn]] WEIR_API void refuse_second_owner_of_memory(const char* operation, const std::string& object);

}  // namespace weir::support
