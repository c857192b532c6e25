// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "weir/export.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/plugin.hpp"

/// Tools: observers of all that a program does through Weir, such as `race` and `timeline`. See docs/tools.md.
namespace weir {

/// The base of a tool. It is called on every thread that uses Weir, concurrently. A tool may call Weir; no tool sees these
/// calls.
class WEIR_API Tool {
 public:
  Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  virtual ~Tool() = default;

  /// Called on the operation's thread, after all of Weir's checks and before anything is submitted. If this throws, the
  /// operation is not performed, and the caller gets the exception; a `free` is performed nevertheless.
  virtual void before(const Operation&) {}
  /// Called after the operation, on the same thread, once for each `before` that returned, even if the operation failed.
  virtual void after(const Operation&) noexcept {}
  /// Called when a host function or callback of that operation is about to run on the calling thread; in a graph, for each
  /// launch.
  virtual void begin_host_function(std::uint64_t /*operation*/) noexcept {}
  /// Called when it has returned.
  virtual void end_host_function(std::uint64_t /*operation*/) noexcept {}
  /// Whether the tool watches each running node of a graph. Called once, when the tool is added.
  virtual bool watches_nodes() const noexcept { return false; }
  /// Called when a node of a launched graph has run; the nodes of a child graph come before it. Only backends that run
  /// graphs themselves, such as `host`, report this; GPU drivers do not. Called on the thread that finished the node, before
  /// work that waits for it continues. It must not call Weir.
  virtual void after_node(const NodeRun&) noexcept {}
  /// Called when a `Range` of the calling thread begins.
  virtual void begin_range(std::string_view /*name*/) noexcept {}
  /// Called when the newest range ends.
  virtual void end_range() noexcept {}
  /// Called when a backend has opened its driver and has only queried its version. Return true to watch the backend's calls.
  /// An exception, `weir::Error` with `invalid_environment`, keeps the backend from being opened.
  virtual bool watches_driver(const Driver&) { return false; }
  /// Called before a call to a watched driver. A result other than 0 is returned instead of calling the driver. Calls that
  /// wait (cuStreamSynchronize) or end a capture are still made, because their callers rely on the work or the capture being
  /// over, even after an error. Not called for driver calls that tools cause. It must not call Weir, because Weir's locks
  /// may be held.
  virtual int before_driver_call(const DriverCall&) noexcept { return 0; }
  /// Called after the call, or after a `before_driver_call` that replaced it.
  virtual void after_driver_call(const DriverCall&) noexcept {}
  /// Called once when the program exits normally (exit, or the end of main). Returns the exit status to use, or 0 to leave
  /// it unchanged.
  virtual int finish() noexcept { return 0; }
};

/// The tools of the process: those in the variable WEIR_TOOLS, and those that the program adds.
class WEIR_API Tools {
 public:
  /// Adds a tool, which lives until the process ends. Throws `invalid_argument` once the registry was used, because tools
  /// would not see existing streams. Must not be called concurrently.
  static void add(std::unique_ptr<Tool> tool);
  /// Whether there are any tools.
  static bool any() noexcept;
};

namespace detail {
/// Refines `access`, a launch's access through that parameter, by facts about the kernel: whether it only reads the memory,
/// or only updates it atomically. For callers of `declare_touches`.
WEIR_API MemoryAccess known_access(const Kernel& kernel, std::size_t parameter, MemoryAccess access) noexcept;
}  // namespace detail

}  // namespace weir

extern "C" {
/// A tool's library, `libweir_tool_NAME.so`, exports this function, which creates the tool. Called at most once in a
/// process. Throws `weir::Error` with `invalid_environment` if one of the tool's variables is invalid.
WEIR_API weir::Tool* weir_create_tool();
}

/// Defines a tool's note and its factory, as `WEIR_PLUGIN` does for a backend. `name`: "race" for libweir_tool_race.so;
/// `version`: the tool's own; both string literals. `create`: a function `weir::Tool*()`.
#define WEIR_TOOL(name, version, create)                                                            \
  __attribute__((used, section(".note.weir"), aligned(4))) static constexpr auto weir_plugin_note = \
      weir::detail::make_plugin_note("tool_" name, version);                                        \
  extern "C" weir::Tool* weir_create_tool() { return create(); }
