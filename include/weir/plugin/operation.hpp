// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weir/access.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/graph.hpp"
#include "weir/kernel_argument.hpp"
#include "weir/stream_memory.hpp"

/// The data that tools receive: a program's operations, the nodes of its running graphs, and the driver calls. See
/// weir/plugin/tool.hpp.
namespace weir {

enum class ConditionalKind : std::uint8_t;
struct LaunchConfig;

/// The kind of an operation.
enum class OperationKind : std::uint8_t {
  // Work of a stream.
  kernel,
  copy,
  fill,
  host_function,
  callback,
  memory_operations,
  allocate,
  free,
  prefetch,
  external,  ///< work declared with `external_work`, and collectives
  // The order of streams.
  record,
  wait_event,
  wait_stream,
  // Host calls.
  synchronize,
  query,
  host_access,
  host_copy,
  // Captures.
  begin_capture,
  end_capture,
  child_graph,
  conditional,
  capture_dependencies,
  // Graphs.
  clone_graph,
  instantiate,
  update_graph,
  change_nodes,
  upload_graph,
  launch_graph,
  // Objects.
  create_stream,
  register_host,
  unregister_host,
  module_global,
  // Access to memory other than the device's own.
  enable_peer_access,
  disable_peer_access,
  set_name,       ///< of a stream, an event or an allocation
  destroy_graph,  ///< `graph` or `exec` is destroyed: do not use it, and expect its address for another object
};
/// "wait_event"
WEIR_API std::string_view to_string(OperationKind) noexcept;

/// Properties shared by all operations of a kind.
struct OperationTraits {
  bool is_in_order = false;      ///< it runs in stream order, if it is enqueued on a stream
  bool is_work = false;          ///< it takes time on the stream, unlike ordering and stream-ordered memory
  bool reads = false;            ///< it may read the memory in `accesses` and `memory_operations`
  bool writes = false;           ///< it may write the memory there
  bool may_be_captured = false;  ///< it can become a node of a graph
};

/// The only table of the kinds' properties. A new kind needs an entry here; the compiler warns if it is missing.
constexpr OperationTraits traits_of(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::kernel:
    case OperationKind::copy:
    case OperationKind::memory_operations:
    case OperationKind::external:
      return {.is_in_order = true, .is_work = true, .reads = true, .writes = true, .may_be_captured = true};
    case OperationKind::fill: return {.is_in_order = true, .is_work = true, .writes = true, .may_be_captured = true};
    case OperationKind::conditional: return {.is_in_order = true, .is_work = true, .reads = true, .may_be_captured = true};
    case OperationKind::host_function:
    case OperationKind::child_graph:
    case OperationKind::launch_graph: return {.is_in_order = true, .is_work = true, .may_be_captured = true};
    case OperationKind::callback:
    case OperationKind::prefetch:  // it moves memory and leaves the contents, so it may run concurrently with writers
    case OperationKind::upload_graph: return {.is_in_order = true, .is_work = true};
    case OperationKind::allocate:
    case OperationKind::free:
    case OperationKind::record:
    case OperationKind::wait_event:
    case OperationKind::wait_stream:
    case OperationKind::capture_dependencies: return {.is_in_order = true, .may_be_captured = true};
    case OperationKind::host_access:
    case OperationKind::host_copy: return {.reads = true, .writes = true};
    case OperationKind::synchronize:
    case OperationKind::query:
    case OperationKind::begin_capture:
    case OperationKind::end_capture:
    case OperationKind::clone_graph:
    case OperationKind::instantiate:
    case OperationKind::update_graph:
    case OperationKind::change_nodes:
    case OperationKind::create_stream:
    case OperationKind::register_host:
    case OperationKind::unregister_host:
    case OperationKind::module_global:
    case OperationKind::enable_peer_access:
    case OperationKind::disable_peer_access:
    case OperationKind::set_name:
    case OperationKind::destroy_graph: break;
  }
  return {};
}

/// Identifies a native stream: all objects that wrap one native stream have the same key.
struct StreamKey {
  const Device* device = nullptr;
  const void* handle = nullptr;
  std::uint64_t thread = 0;  ///< the thread of a per-thread default stream, otherwise 0
  friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// One operation, as tools see it. Pointers are valid only during the call; members that do not apply are null, empty or 0.
struct Operation {
  std::uint64_t id = 0;  ///< numbers the process's operations
  OperationKind kind{};
  const char* name = "";  ///< "Stream::copy"; for `external` the program's name for it
  const Device* device = nullptr;
  const Stream* stream = nullptr;  ///< null for operations without a stream, such as `Device::synchronize`
  StreamKey stream_key;
  StreamKey awaited;             ///< `wait_stream`: the awaited stream
  const Device* peer = nullptr;  ///< `enable_peer_access`, `disable_peer_access`: the owner of the memory
  const Event* event = nullptr;
  /// `record_external`, `wait_external`: each launch of the graph records the event, or waits for it.
  bool in_graph = false;
  /// The memory that it reads and writes. For kernels: the memory of their arguments, restricted by `touches` and
  /// `Accessed`. For `allocate`, `free` and `module_global`: the memory itself.
  std::span<const MemoryAccess> accesses;
  std::span<const MemoryOperation> memory_operations;
  const Kernel* kernel = nullptr;
  const Module* module{};  ///< `module_global`: the variable's module
  const LaunchConfig* config = nullptr;
  void* const* arguments = nullptr;               ///< `kernel`: the address of each
  std::span<const Parameter> parameters;          ///< `kernel`: their sizes and kinds
  std::span<const std::byte> element;             ///< `fill`: the value of every element
  std::uint32_t word_size = 0;                    ///< `fill`: the size that one memset of the driver repeats, in bytes
  ConditionalKind conditional{};                  ///< `conditional`
  std::size_t bodies = 0;                         ///< `conditional`: the number of bodies, which are captured in turn
  const Graph* graph = nullptr;      ///< `instantiate`, `update_graph`, `clone_graph`, `child_graph`: the source
  const GraphExec* exec = nullptr;   ///< the executable; for `instantiate` only in `after`
  const Graph* new_graph = nullptr;  ///< `end_capture`, `clone_graph`: the result, only in `after`
  const Allocation* allocation = nullptr;
  const GraphChanges* changes = nullptr;       ///< `change_nodes`
  std::span<const GraphNode> dependencies;     ///< `capture_dependencies`
  /// For work that became nodes of a graph: the last of them, only in `after`.
  std::optional<GraphNode> node;
  /// The capture that made the operation a node, or that it begins or ends: the operation itself does not run then.
  std::uint64_t capture = 0;
  std::uint64_t thread = 0;         ///< numbers the threads
  std::uint64_t host_function = 0;  ///< the operation whose host function makes this call, or 0
  std::string_view tag;             ///< the innermost `Range` of the thread
  /// `set_name`: the name; `host_function`: the function's name, if it has one; `module_global`: the variable's name.
  std::string_view label;
  bool is_complete = false;         ///< `query`: the result, in `after`
  bool has_failed = false;          ///< in `after`: it threw, and nothing was submitted
  bool reads_any_time = false;      ///< `copy`: with `SourceAccess::any_time`
};

/// A node of a launched graph that has run. Pointers in it are valid only during the call, numbers until the launch ends.
struct NodeRun {
  std::uint64_t launch = 0;      ///< the operation that launched the graph
  const void* node = nullptr;    ///< distinguishes the nodes of one launch
  const void* parent = nullptr;  ///< the child-graph or conditional node that contains it; null for the launch's own nodes
  NodeKind kind{};
  std::string_view kernel;  ///< a kernel's name
  std::uint64_t bytes = 0;  ///< written by a copy or a fill
  /// The actual start of its work, which may be later than possible, and the end of all of it.
  std::chrono::steady_clock::time_point begin, end;
};

/// A vendor's driver, as opened by a backend.
struct Driver {
  std::string_view backend;                ///< "cuda"
  /// the names of all functions that the backend may call, such as "cuLaunchKernel"
  std::span<const char* const> functions;
  /// "CUDA_ERROR_INVALID_VALUE"; empty for an invalid code.
  std::function<std::string(int code)> error_name;
};

/// One call of a function of a vendor's driver. The pointers are valid as long as the process lives.
struct DriverCall {
  const char* backend = "";   ///< "cuda"
  const char* function = "";  ///< "cuLaunchKernel"
  int result = 0;             ///< in `after_driver_call`: the result, 0 for success
};

}  // namespace weir
