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

/// Functions of the core for backends and tools: environment variables, the log, host functions, threads, captures, faults,
/// and deferred destruction.
namespace weir::support {

/// Returns the value of an environment variable, or nullopt if it is not set. Uses secure_getenv, so all variables count as
/// unset in a set-user-ID process. Like the next two functions, must not run while another thread changes the environment.
WEIR_API std::optional<std::string> environment(const char* name);
/// Returns the value of an environment variable as a whole number from `least` to `greatest`, or `fallback` if the variable
/// is not set. Throws `invalid_environment`, with variable, value and range.
WEIR_API long environment_number(const char* name, long fallback, long least, long greatest);
/// Returns the value of an environment variable as an absolute path, or nullopt if the variable is not set. Throws
/// `invalid_environment` for an empty or relative path.
WEIR_API std::optional<std::string> environment_path(const char* name);

using weir::LogLevel;
/// Logs one line, `line` followed by `rest`, if the level is enabled for the part of Weir that calls this (weir/log.hpp).
/// Never throws. Any thread.
WEIR_API void log(LogLevel, std::string_view line, std::string_view rest = {}) noexcept;

/// A backend creates this object while it calls a host function or callback of the program. While this object lives,
/// functions of Weir throw `called_from_host_function` on this thread, and objects whose last owner is released on this
/// thread are destroyed by another thread.
class WEIR_API HostFunctionScope {
 public:
  HostFunctionScope() noexcept;
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

 private:
  bool outer_;
};

/// Blocks all signals in the calling thread from now on, except SIGPROF and the signals of the thread's own faults (SIGSEGV
/// and similar). Otherwise a library's thread could receive a signal that a thread of the application waits for, or the
/// signal could end the process. For threads that run a backend's code but were not started by the backend.
WEIR_API void block_signals() noexcept;

/// Blocks signals like `block_signals`, until this object is destroyed. A backend creates this object before it starts a
/// thread, because the new thread inherits the signal mask.
class WEIR_API SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// A backend creates this object around a driver call that would invalidate all captures on the device (cuCtxSynchronize).
/// Until it is destroyed, calls on other threads that begin or join a capture on the device block. A thread must not create
/// two such objects at a time.
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

/// Whether any stream is in a capture that was begun through Weir. Fast: one atomic load.
WEIR_API bool any_captures() noexcept;
/// Attaches `object` to the stream's capture, unless the capture already has an attached object, and returns the attached
/// object. If `object` is null, only returns the attached object. Bindings attach a list of the objects that a captured
/// graph uses. Returns null if the stream is not in a capture that was begun through Weir. The capture
/// releases its reference when it ends or is dropped, on any thread.
WEIR_API std::shared_ptr<void> attach_to_capture(const Stream& stream, std::shared_ptr<void> object);

/// Whether a tool watches this driver. If so, the backend must call the two functions below around each driver call. A
/// backend calls this once, in its factory, before the first driver call that may fail. Throws the errors that a factory may
/// throw.
WEIR_API bool is_driver_watched(const Driver&);
/// Called before a driver call, on its thread. If the result is not 0, the backend must not make the call and uses this
/// result instead.
WEIR_API int begin_driver_call(const DriverCall&) noexcept;
/// Called after a driver call, with its result, also if the result of `begin_driver_call` has replaced it.
WEIR_API void end_driver_call(const DriverCall&) noexcept;

/// For backends that run graphs themselves: call this in `GraphExecImpl::do_launch`. Returns the id of the launch if a tool
/// watches the nodes, otherwise 0.
WEIR_API std::uint64_t watched_launch() noexcept;
/// Reports that a node of a watched launch has run. Any thread; see `Tool::after_node` for the order.
WEIR_API void note_node(const NodeRun&) noexcept;

/// While this object lives, the calling thread's driver calls are not reported to tools. For calls that test a backend's
/// driver.
class WEIR_API UnshownCalls {
 public:
  UnshownCalls() noexcept;
  ~UnshownCalls();
  UnshownCalls(const UnshownCalls&) = delete;
  UnshownCalls& operator=(const UnshownCalls&) = delete;

 private:
  bool outer_;
};

/// A backend calls this when its driver has reported `error`, a `device_fault`. Marks the devices for which
/// `DeviceImpl::do_fault` returns an error as poisoned. Never throws.
WEIR_API void note_fault(const Error& error) noexcept;

/// Marks a device as poisoned, as if its driver had reported `error`. For tools that simulate faults. Never throws.
WEIR_API void poison(const Device& device, const Error& error) noexcept;

/// For objects that pending work still uses, so that they must be destroyed later: calls `try_to_end()` repeatedly on a
/// background thread until it returns true. `try_to_end` must not block. If the process ends first, the object leaks.
/// Returns false if memory is exhausted; the object then also leaks.
WEIR_API bool reclaim(UniqueFunction<bool()>&& try_to_end) noexcept;
/// Like `reclaim`, for modules. They have a thread of their own, because unloading a module may block until the whole device
/// is idle.
WEIR_API bool reclaim_module(UniqueFunction<bool()>&& try_to_end) noexcept;

/// A backend calls this before it throws because the driver has shut down, which happens while the process exits. If another
/// thread is running the exit handlers, blocks until the process ends, because the exception could escape from a detached
/// thread and abort the process. Blocks at most two seconds, because the destructor of a static object may join the calling
/// thread. On the thread that runs the exit handlers, returns at once.
WEIR_API void wait_for_exit() noexcept;

/// Describes a stream by its key: "host:0 stream 0x55…", or with its name "host:0 stream 'copies' 0x55…".
WEIR_API std::string label_of(const StreamKey& stream);

/// The pauses of a loop that polls until a deadline: none at first, then growing to at most a millisecond.
class WEIR_API DeadlinePauses {
 public:
  /// For one poll of the calling thread.
  explicit DeadlinePauses(std::chrono::steady_clock::time_point deadline) noexcept : deadline_(deadline) {}
  /// Pauses, then returns true. Returns false without a pause if the deadline has passed.
  bool next() noexcept;

 private:
  std::chrono::steady_clock::time_point deadline_;
  std::uint32_t count_ = 0;
};

/// The error text, with cause and remedy, for a call that an open capture does not allow. Valid until the process ends.
WEIR_API std::string_view capture_refusal(Errc code) noexcept;

/// Whether a change can be applied to a node of this kind. For GraphExecImpl::do_apply.
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
/// Throws `graph_update_failed` for a change that does not fit its node. `kind`: the node's kind; nullopt if the graph,
/// which has `count` nodes, has no such node.
[[noreturn]] WEIR_API void throw_impossible_change(const std::string& object, const NodeChange& change,
                                                   std::optional<NodeKind> kind, std::size_t count);

/// Throws `invalid_argument` for a node that does not exist. `count`: the number of nodes of the graph.
[[noreturn]] WEIR_API void throw_no_such_node(const char* operation, const std::string& object, GraphNode node,
                                              std::size_t count);

/// Throws `unsupported` for a call that would copy a graph that allocates memory.
[[noreturn]] WEIR_API void throw_second_owner_of_memory(const char* operation, const std::string& object);

}  // namespace weir::support
