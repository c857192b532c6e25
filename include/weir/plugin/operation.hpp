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

/// The structures that tools receive: an operation of the program, a node of a running graph, and a driver call. See
/// weir/plugin/tool.hpp.
namespace weir {

enum class ConditionalKind : std::uint8_t;
struct LaunchConfig;

/// The kind of an operation.
enum class OperationKind : std::uint8_t {
  // Operations that do work on a stream.
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
  // Operations that order streams.
  record,
  wait_event,
  wait_stream,
  // Operations of the host.
  synchronize,
  query,
  host_access,
  host_copy,
  // Operations of captures.
  begin_capture,
  end_capture,
  child_graph,
  conditional,
  capture_dependencies,
  // Operations of graphs.
  clone_graph,
  instantiate,
  update_graph,
  change_nodes,
  upload_graph,
  launch_graph,
  // Operations on objects.
  create_stream,
  register_host,
  unregister_host,
  module_global,
  // Other operations.
  enable_peer_access,
  disable_peer_access,
  set_name,       ///< a stream, an event or an allocation is named
  destroy_graph,  ///< `graph` or `exec` is destroyed: do not dereference it; a new object may reuse its address
  create_memory_pool,
  compile,        ///< `Device::compile`, also for the source of a bundle
  load_module,    ///< `Device::load_module`, also for each image of a bundle that `Device::load` tries
};
/// Returns the kind's name: "wait_event".
WEIR_API std::string_view to_string(OperationKind) noexcept;

/// Properties shared by all operations of a kind.
struct OperationTraits {
  bool is_in_order = false;      ///< operations that are enqueued on a stream run in its order
  bool is_work = false;          ///< the operation takes time on the stream, unlike records, waits and stream-ordered
                                 ///< allocations
  bool reads = false;            ///< the operation may read the memory in `accesses` and `memory_operations`
  bool writes = false;           ///< the operation may write the memory in `accesses` and `memory_operations`
  bool may_be_captured = false;  ///< the operation can become a node of a graph
};

/// Returns the properties of a kind. The compiler warns if a kind has no case here.
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
    case OperationKind::prefetch:  // neither reads nor writes: it moves memory without changing the contents, so it may run
                                   // concurrently with writers
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
    case OperationKind::destroy_graph:
    case OperationKind::create_memory_pool:
    case OperationKind::compile:
    case OperationKind::load_module: break;
  }
  return {};
}

/// Identifies a vendor's stream: all `Stream` objects that wrap it have the same key.
struct StreamKey {
  const Device* device = nullptr;
  const void* handle = nullptr;
  std::uint64_t thread = 0;  ///< the thread of a per-thread default stream, otherwise 0
  friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// One operation, as passed to tools. Pointers are valid only during the call. Members that do not apply to the kind are
/// null, empty or 0.
struct Operation {
  std::uint64_t id = 0;  ///< a number that is unique in the process
  OperationKind kind{};
  const char* name = "";  ///< the name of the public function, "Stream::copy"; for `external`, the name that the program has
                          ///< given
  const Device* device = nullptr;
  const Stream* stream = nullptr;  ///< null for operations without a stream, such as `Device::synchronize`
  StreamKey stream_key;
  StreamKey awaited;             ///< `wait_stream`: the stream that is waited for
  const Device* peer = nullptr;  ///< `enable_peer_access`, `disable_peer_access`: the device that owns the memory
  const Event* event = nullptr;
  /// True for `Stream::record_external` and `wait_external`: each launch of the graph records the event or waits for it.
  bool in_graph = false;
  /// The memory that the operation reads and writes. For kernels: the memory of the arguments, or the memory that the
  /// program declared (weir/access.hpp, weir/annotation.hpp). For `allocate`, `free` and `module_global`: the memory that is
  /// allocated, freed or returned.
  std::span<const MemoryAccess> accesses;
  std::span<const MemoryOperation> memory_operations;
  const Kernel* kernel = nullptr;
  const Module* module{};  ///< `module_global`: the variable's module
  const LaunchConfig* config = nullptr;
  void* const* arguments = nullptr;               ///< `kernel`: the address of each argument
  std::span<const Parameter> parameters;          ///< `kernel`: the sizes and kinds of the arguments
  std::span<const std::byte> element;             ///< `fill`: the value of every element
  std::uint32_t word_size = 0;                    ///< `fill`: the size in bytes of the word that the driver's memset repeats
  ConditionalKind conditional{};                  ///< `conditional`: the kind of the node
  std::size_t bodies = 0;                         ///< `conditional`: the number of bodies, which are captured one after
                                                  ///< another
  const Graph* graph = nullptr;      ///< `instantiate`, `update_graph`, `clone_graph`, `child_graph`: the graph that is used
  const GraphExec* exec = nullptr;   ///< the executable graph; for `instantiate`, set only in `after`
  const Graph* new_graph = nullptr;  ///< `end_capture`, `clone_graph`: the result, set only in `after`
  const Allocation* allocation = nullptr;
  const GraphChanges* changes = nullptr;       ///< `change_nodes`: the changes
  std::span<const GraphNode> dependencies;     ///< `capture_dependencies`: the nodes before the stream's next operation
  /// For captured work: the last node that the operation added to the graph. Set only in `after`.
  std::optional<GraphNode> node;
  /// The id of the capture that records the operation, or that it begins or ends; else 0. A captured
  /// operation does not run now.
  std::uint64_t capture = 0;
  std::uint64_t thread = 0;         ///< a number that identifies the calling thread
  std::uint64_t host_function = 0;  ///< the id of the operation whose host function makes this call, or 0
  std::string_view tag;             ///< the name of the calling thread's innermost `ScopedRange`
  /// `set_name`: the name; `host_function`: the function's name, if it has one; `module_global`: the variable's name.
  std::string_view label;
  bool is_complete = false;         ///< `query`: the result, set in `after`
  bool has_failed = false;          ///< in `after`: the operation threw an exception, and nothing was submitted
  bool reads_any_time = false;      ///< `copy`: the sources may be read at any time (`SourceAccess::any_time`)
};

/// A node of a launched graph that has run. `node` and `parent` only identify nodes: do not dereference them, and compare
/// them only within one launch. `kernel` is valid only during the call.
struct NodeRun {
  std::uint64_t launch = 0;      ///< the id of the operation that launched the graph
  const void* node = nullptr;    ///< identifies the node within its launch
  const void* parent = nullptr;  ///< the child-graph or conditional node that contains this node; null for nodes of the
                                 ///< launched graph itself
  NodeKind kind{};
  std::string_view kernel;  ///< for a kernel: its name
  std::uint64_t bytes = 0;  ///< for a copy or a fill: the number of bytes written
  /// When the node's work started and ended. A node may start later than its dependencies allow, because threads are busy.
  std::chrono::steady_clock::time_point begin, end;
};

/// A vendor's driver that a backend has opened.
struct Driver {
  std::string_view backend;                ///< the backend's name: "cuda"
  /// The names of all driver functions that the backend may call, such as "cuLaunchKernel".
  std::span<const char* const> functions;
  /// Returns the name of an error code, "CUDA_ERROR_INVALID_VALUE"; empty for an invalid code.
  std::function<std::string(int code)> error_name;
};

/// One call of a function of a vendor's driver. The pointers are valid until the process ends.
struct DriverCall {
  const char* backend = "";   ///< the backend's name: "cuda"
  const char* function = "";  ///< the function's name: "cuLaunchKernel"
  int result = 0;             ///< the result, set in `after_driver_call`; 0 for success
};

}  // namespace weir
