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

/// What observes a program. Calls come from every thread that uses Weir, at the same time. A tool may call Weir; what it
/// does there is shown to no tool.
class WEIR_API Tool {
 public:
  Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;
  virtual ~Tool() = default;

  /// Called on the thread that calls the operation, when it has passed all checks of Weir's and nothing has been submitted.
  /// If this throws, the operation is not made, and the exception is the caller's; a `free` is made all the same.
  virtual void before(const Operation&) {}
  /// Called behind it, on the same thread, once for each `before` that returned; also where the operation failed.
  virtual void after(const Operation&) noexcept {}
  /// A host function, or callback, of that operation is about to run on the calling thread. In a graph that is so for each
  /// launch.
  virtual void begin_host_function(std::uint64_t /*operation*/) noexcept {}
  /// It has returned.
  virtual void end_host_function(std::uint64_t /*operation*/) noexcept {}
  /// Whether the tool wants to be told of each node of a graph that runs. Asked once, when the tool is added.
  virtual bool watches_nodes() const noexcept { return false; }
  /// A node of a launched graph has run; the nodes of a child graph come before that one. Only backends that run graphs
  /// themselves can tell, as `host` does: drivers of GPUs do not. Called on the thread that finished the node, before what
  /// waits for it goes on. It must not call Weir.
  virtual void after_node(const NodeRun&) noexcept {}
  /// A `Range` of the calling thread begins.
  virtual void begin_range(std::string_view /*name*/) noexcept {}
  /// The newest one ends.
  virtual void end_range() noexcept {}
  /// A backend has opened its driver, and has called nothing of it yet but its version. True: the tool wants to see the
  /// calls that the backend makes. What this throws, `weir::Error` with `invalid_environment`, keeps the backend from being
  /// opened.
  virtual bool watches_driver(const Driver&) { return false; }
  /// A call of a driver that some tool watches. What is not 0 is returned in the driver's place, and the driver not called,
  /// unless it waits (cuStreamSynchronize) or ends a capture: when that fails the work, or the capture, is over all the
  /// same. Not for calls that tools cause. May be called while locks of Weir are held: it must not call Weir.
  virtual int before_driver_call(const DriverCall&) noexcept { return 0; }
  /// The call has returned, or a `before_driver_call` has answered in its place.
  virtual void after_driver_call(const DriverCall&) noexcept {}
  /// Called once when the program ends by itself (exit, or the end of main). Returns the status that it shall exit with, or
  /// 0 to leave it as it is.
  virtual int finish() noexcept { return 0; }
};

/// The tools of the process: those of the variable WEIR_TOOLS, and those that the program adds.
class WEIR_API Tools {
 public:
  /// Adds a tool, which lives until the process ends. Throws `invalid_argument` once the registry was used: streams that are
  /// there already would not be seen. Not for several threads at once.
  static void add(std::unique_ptr<Tool> tool);
  /// Whether there are any.
  static bool any() noexcept;
};

namespace detail {
/// `access`, which a launch gives to that parameter, with what is known of the kernel: whether it only reads there, or only
/// updates atomically. For those who call `declare_touches` for a launch.
WEIR_API MemoryAccess known_access(const Kernel& kernel, std::size_t parameter, MemoryAccess access) noexcept;
}  // namespace detail

}  // namespace weir

extern "C" {
/// What the library of a tool, `libweir_tool_NAME.so`, exports: makes the tool. Called at most once in a process. Throws
/// `weir::Error` with `invalid_environment` for a variable of its own that does not parse.
WEIR_API weir::Tool* weir_create_tool();
}

/// Defines a tool's note and its factory, as `WEIR_PLUGIN` does for a backend. `name`: "race" for libweir_tool_race.so;
/// `version`: the tool's own; both string literals. `create`: a function `weir::Tool*()`.
#define WEIR_TOOL(name, version, create)                                                            \
  __attribute__((used, section(".note.weir"), aligned(4))) static constexpr auto weir_plugin_note = \
      weir::detail::make_plugin_note("tool_" name, version);                                        \
  extern "C" weir::Tool* weir_create_tool() { return create(); }
