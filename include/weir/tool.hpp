// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "weir/access.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/plugin.hpp"
#include "weir/stream_memory.hpp"

/// Tools: observers of all that a program does through Weir, such as `race` and `timeline`. See docs/tools.md.
namespace weir {

struct LaunchConfig;

/// What an operation does.
enum class OperationKind : std::uint8_t {
  kernel,
  copy,
  fill,
  host_function,
  callback,
  memory_operations,
  allocate,
  free,
  prefetch,
  external,  // work
  record,
  wait_event,
  wait_stream,  // order of streams
  synchronize,
  query,
  host_access,
  host_copy,  // the host's part
  begin_capture,
  end_capture,
  child_graph,
  conditional,  // captures
  clone_graph,
  instantiate,
  update_graph,
  upload_graph,
  launch_graph,  // graphs
  create_stream,
  register_host,
  unregister_host,  // objects
  module_global,
  enable_peer_access,
  disable_peer_access,  // what the device may address besides
};
/// "wait_event"
WEIR_API std::string_view to_string(OperationKind) noexcept;

/// Tells native streams apart: objects that wrap one native stream have the same key.
struct StreamKey {
  const Device* device = nullptr;
  const void* handle = nullptr;
  std::uint64_t thread = 0;  ///< the thread of a per-thread default stream, else 0
  friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// One operation, as tools see it. Pointers are valid during the call only; what does not apply is null, empty or 0.
struct Operation {
  std::uint64_t id = 0;  ///< counts the operations of the process
  OperationKind kind{};
  const char* name = "";  ///< "Stream::copy"; for `external` what the program calls it
  const Device* device = nullptr;
  const Stream* stream = nullptr;  ///< null for what belongs to no stream, as `Device::synchronize`
  StreamKey stream_key;
  StreamKey awaited;  ///< `wait_stream`: the stream that is waited for
  const Device* peer = nullptr;  ///< `enable_peer_access`, `disable_peer_access`: whose memory
  const Event* event = nullptr;
  bool in_graph =
      false;  ///< `record_external`, `wait_external`: each launch of the graph records the event, or waits for it
  /// What it reads and writes. Kernels: what their arguments name, which is not more than what `touches` and `Accessed` say.
  /// `allocate`, `free`, `module_global`: the memory.
  std::span<const MemoryAccess> accesses;
  std::span<const MemoryOperation> memory_operations;
  const Kernel* kernel = nullptr;
  const LaunchConfig* config = nullptr;
  const Graph* graph = nullptr;      ///< `instantiate`, `update_graph`, `clone_graph`, `child_graph`: what it is made of
  const GraphExec* exec = nullptr;   ///< the executable; of `instantiate` in `after` alone
  const Graph* new_graph = nullptr;  ///< `end_capture`, `clone_graph`: the result, in `after` alone
  const Allocation* allocation = nullptr;
  /// The capture that the operation became a node of, or that it begins or ends: it does not run by itself then.
  std::uint64_t capture = 0;
  std::uint64_t thread = 0;         ///< counts threads
  std::uint64_t host_function = 0;  ///< the operation whose host function makes this call, or 0
  std::string_view tag;             ///< the innermost `Range` of the thread
  bool is_complete = false;         ///< `query`: the answer, in `after`
  bool has_failed = false;          ///< in `after`: it threw, and nothing was submitted
};

/// A vendor's driver, as a backend has opened it.
struct Driver {
  std::string_view backend;                ///< "cuda"
  std::span<const char* const> functions;  ///< the names of all functions that the backend may call, as "cuLaunchKernel"
  /// "CUDA_ERROR_INVALID_VALUE"; empty for what is no code of the driver's.
  std::function<std::string(int code)> error_name;
};

/// One call of a function of a vendor's driver. The pointers are valid as long as the process lives.
struct DriverCall {
  const char* backend = "";   ///< "cuda"
  const char* function = "";  ///< "cuLaunchKernel"
  int result = 0;             ///< in `after_driver_call`: what it returned, 0 for success
};

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
