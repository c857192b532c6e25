// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/export.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/plugin.hpp"

/// The interface of tools. A tool observes all operations of a program, like `race` and `timeline`. See docs/tools.md.
namespace weir {

/// The base class of a tool. Its functions are called concurrently on all threads that use Weir. Unless documented
/// otherwise, they may call Weir; such calls are not reported to tools.
class WEIR_API Tool {
 public:
  Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  virtual ~Tool() = default;

  /// Called before an operation, on the thread that calls it, after all of Weir's checks. If this throws, the operation is
  /// not performed and the exception passes to the program; only a `free` is performed nevertheless.
  virtual void before(const Operation&) {}
  /// Called after the operation, on the same thread, even if the operation failed. Not called if `before` threw.
  virtual void after(const Operation&) noexcept {}
  /// Called before a host function or callback runs, on the thread that runs it. In a graph, called for each launch. The
  /// argument is the id of the operation that enqueued the function.
  virtual void begin_host_function(std::uint64_t /*operation*/) noexcept {}
  /// Called when the host function or callback has returned.
  virtual void end_host_function(std::uint64_t /*operation*/) noexcept {}
  /// Whether `after_node` shall be called. Called once, when the tool is added.
  virtual bool watches_nodes() const noexcept { return false; }
  /// Called when a node of a launched graph has run. Called for the nodes inside a child graph before it is called for the
  /// child-graph node. Only backends that run graphs themselves, such as `host`, report nodes; GPU drivers do not. Called on
  /// the thread that ran the node, before work that waits for the node continues. Must not call Weir.
  virtual void after_node(const NodeRun&) noexcept {}
  /// Called when a `ScopedRange` begins on the calling thread.
  virtual void begin_range(std::string_view /*name*/) noexcept {}
  /// Called when the calling thread's innermost range ends.
  virtual void end_range() noexcept {}
  /// Called when a backend has opened its driver, before any driver call except the query for its version. If this returns
  /// true, the two functions below are called for each driver call. May throw `weir::Error` with `invalid_environment`; the
  /// backend is then not opened.
  virtual bool watches_driver(const Driver&) { return false; }
  /// Called before a driver call. If this returns a value other than 0, the driver is not called, and the backend gets this
  /// value as the result. Exception: calls that wait (cuStreamSynchronize) or end a capture are made nevertheless, because
  /// even after an error the backend relies on the work being done or the capture having ended. Not called for driver calls
  /// that tools cause. Must not call Weir, because Weir may hold locks.
  virtual int before_driver_call(const DriverCall&) noexcept { return 0; }
  /// Called after a driver call, or after a `before_driver_call` that replaced the call.
  virtual void after_driver_call(const DriverCall&) noexcept {}
  /// Called once when the program exits normally (exit, or the end of main). Returns the exit status to use, or 0 to leave
  /// it unchanged.
  virtual int finish() noexcept { return 0; }
};

/// The tools of the process: tools that the environment variable WEIR_TOOLS names, and tools that the program adds.
class WEIR_API Tools {
 public:
  /// Adds a tool, which lives until the process ends. Must be called before the registry is used, because the tool would
  /// otherwise miss operations; after that, throws `invalid_argument`. Must not be called concurrently.
  static void add(std::unique_ptr<Tool> tool);
  /// Whether the process has any tools. Any thread.
  static bool any() noexcept;
};

namespace detail {
/// Returns `access` with the known facts about the kernel: whether it only reads the memory of this parameter, or only
/// updates it atomically. `access`: the access of a launch through parameter number `parameter`. For callers of
/// `declare_touches`.
WEIR_API MemoryAccess known_access(const Kernel& kernel, std::size_t parameter, MemoryAccess access) noexcept;
}  // namespace detail

}  // namespace weir

extern "C" {
/// Creates the tool. Every tool's library, `libweir_tool_NAME.so`, exports this function. Called at most once in a process.
/// Throws `weir::Error` with `invalid_environment` if one of the tool's environment variables is invalid.
WEIR_API weir::Tool* weir_create_tool();
}

/// Defines a tool's note and its factory, as `WEIR_PLUGIN` does for a backend. `name`: "race" for libweir_tool_race.so.
/// `version`: the tool's version. Both are string literals. `create`: a function `weir::Tool*()`.
#define WEIR_TOOL(name, version, create)                                                            \
  __attribute__((used, section(".note.weir"), aligned(4))) static constexpr auto weir_plugin_note = \
      weir::detail::make_plugin_note("tool_" name, version);                                        \
  extern "C" weir::Tool* weir_create_tool() { return create(); }
