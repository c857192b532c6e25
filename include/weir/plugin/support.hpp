// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/error.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/graph_changes.hpp"
#include "weir/log.hpp"
#include "weir/unique_function.hpp"

namespace weir {
struct Driver;
struct DriverCall;
struct NodeRun;
struct StreamKey;
}  // namespace weir

/// Functions for backends: the environment, the log, host functions, threads, device-wide calls.
namespace weir::support {

/// An environment variable, read with secure_getenv: not set in a process with raised privileges.
WEIR_API std::optional<std::string> environment(const char* name);
/// A whole number from `least` to `greatest`; `fallback` if the variable is not set. Throws `invalid_environment` with
/// variable, value and range.
WEIR_API long environment_number(const char* name, long fallback, long least, long greatest);
/// An absolute path; nothing if the variable is not set. Throws `invalid_environment` for an empty or relative path.
WEIR_API std::optional<std::string> environment_path(const char* name);

using weir::LogLevel;
/// Whether lines of this level are enabled for any part.
WEIR_API bool log_enabled(LogLevel) noexcept;
/// Logs one line, `line` and `rest`, if its level is enabled for the calling part of Weir: see weir/log.hpp. Never throws.
/// Any thread.
WEIR_API void log(LogLevel, std::string_view line, std::string_view rest = {}) noexcept;

/// A backend holds this while it calls a host function or callback of the user. Calls of Weir from within are refused, and
/// objects that lose their last owner within are destroyed by another thread.
class WEIR_API HostFunctionScope {
 public:
  HostFunctionScope() noexcept;
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

 private:
  bool outer_;
};

/// Blocks signals in the calling thread for good, except SIGPROF and those of the thread's own faults. Signals are for the
/// application's threads: if a library's thread received one, the thread that waits for it would not get it, or the process
/// would end. For threads that a backend does not start itself.
WEIR_API void block_signals() noexcept;

/// Blocks signals, like `block_signals`, during its lifetime. A backend holds it while it starts a thread, which inherits
/// the mask.
class WEIR_API SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// A backend holds this around a driver call that would invalidate all captures on the device (cuCtxSynchronize). Calls that
/// begin or join a capture on it wait for its end. A thread must not hold two.
class WEIR_API DeviceWideCall {
 public:
  /// Throws `capture_unsupported` if a capture begun through Weir is open on `device`.
  DeviceWideCall(const char* operation, const Device& device);
  ~DeviceWideCall();
  DeviceWideCall(const DeviceWideCall&) = delete;
  DeviceWideCall& operator=(const DeviceWideCall&) = delete;

 private:
  const Device& device_;
};

/// Whether a capture begun through Weir is open, on any stream. Costs one load.
WEIR_API bool any_captures() noexcept;
/// For a binding that collects the objects used by a captured graph: attaches `object` to the stream's capture, unless it
/// has one already, and returns the attached object. With null it only returns that. Returns null if the stream is not in a
/// capture begun through Weir. The capture owns the object until it ends or is dropped, on any thread; after that, the
/// caller's reference is the last.
WEIR_API std::shared_ptr<void> attach_to_capture(const Stream& stream, std::shared_ptr<void> object);

/// Whether a tool watches this driver: then a backend calls the two functions below around each driver call. Called once,
/// when the backend is created, before the driver's first call that may fail. Throws what a plugin's factory may throw.
WEIR_API bool is_driver_watched(const Driver&);
/// Before a call: the result to return without making the call, or 0.
WEIR_API int begin_driver_call(const DriverCall&) noexcept;
/// After the call, with its result.
WEIR_API void end_driver_call(const DriverCall&) noexcept;

/// For a backend that runs graphs itself, called in `GraphExec::do_launch`: returns the number of this launch if a tool
/// watches the nodes, otherwise 0.
WEIR_API std::uint64_t watched_launch() noexcept;
/// Reports that a node of such a launch has run.
WEIR_API void note_node(const NodeRun&) noexcept;

/// Hides the calling thread's driver calls from tools during its lifetime, for a backend's own experiments.
class WEIR_API UnshownCalls {
 public:
  UnshownCalls() noexcept;
  ~UnshownCalls();
  UnshownCalls(const UnshownCalls&) = delete;
  UnshownCalls& operator=(const UnshownCalls&) = delete;

 private:
  bool outer_;
};

/// A backend calls this when its driver has reported `error`, a `device_fault`: devices that have lost their state according
/// to `Device::do_fault` are poisoned from then on. Never throws.
WEIR_API void note_fault(const Error& error) noexcept;

/// A tool calls this to poison a device as if its driver had reported `error`. Never throws.
WEIR_API void poison(const Device& device, const Error& error) noexcept;

/// For objects that work still uses: calls `try_to_end()` on a background thread until it returns true. `try_to_end` must
/// not wait. If the process ends before that, the object leaks. If memory runs out, it leaks as well, and this returns
/// false.
WEIR_API bool reclaim(UniqueFunction<bool()>&& try_to_end) noexcept;
/// The same on a separate thread for modules, whose unloading may wait for the whole device.
WEIR_API bool reclaim_module(UniqueFunction<bool()>&& try_to_end) noexcept;

/// For a call that fails because the driver has shut down, which it does while the process exits. If another thread runs the
/// exit handlers, it waits up to two seconds for the process to end, because the caller would throw, and a detached thread
/// may catch nothing. The wait is bounded because a static object may join the caller. In the exiting thread it returns at
/// once.
WEIR_API void wait_for_exit() noexcept;

/// Describes a stream, with its name if it has one: "host:0 stream 'copies' 0x55…".
WEIR_API std::string label_of(const StreamKey& stream);

/// The pauses of a wait with a deadline: none at first, then up to a millisecond.
class WEIR_API DeadlinePauses {
 public:
  explicit DeadlinePauses(std::chrono::steady_clock::time_point deadline) noexcept : deadline_(deadline) {}
  /// Pauses. Returns false, without a pause, once the deadline has passed.
  bool next() noexcept;

 private:
  std::chrono::steady_clock::time_point deadline_;
  std::uint32_t count_ = 0;
};

/// Cause and remedy for calls that a capture refuses, shared by the core and the backends.
WEIR_API std::string_view capture_refusal(Errc code) noexcept;

/// Whether a change fits a node of that kind. For GraphExecImpl::do_apply.
inline bool fits(NodeChange::Kind change, NodeKind node) noexcept {
  switch (change) {
    case NodeChange::Kind::kernel: return node == NodeKind::kernel;
    case NodeChange::Kind::copy: return node == NodeKind::copy;
    case NodeChange::Kind::fill: return node == NodeKind::fill;
    case NodeChange::Kind::enable:
    case NodeChange::Kind::disable: break;
  }
  return node == NodeKind::kernel || node == NodeKind::copy || node == NodeKind::fill;
}
/// Throws `graph_update_failed`: a graph of `count` nodes has no such node, or that is of `kind`, which the change does not
/// fit.
[[noreturn]] WEIR_API void throw_impossible_change(const std::string& object, const NodeChange& change,
                                                   std::optional<NodeKind> kind, std::size_t count);

/// Throws `invalid_argument`: a graph of `count` nodes has no such node.
[[noreturn]] WEIR_API void throw_no_such_node(const char* operation, const std::string& object, GraphNode node,
                                              std::size_t count);

/// Throws `unsupported`: the graph allocates memory, so it cannot be copied.
[[noreturn]] WEIR_API void throw_second_owner_of_memory(const char* operation, const std::string& object);

}  // namespace weir::support
