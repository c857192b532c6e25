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
#include "weir/stream_memory.hpp"

/// What tools are told: the operations of a program, the nodes of its graphs as they run, and the calls of its drivers. See
/// weir/plugin/tool.hpp.
namespace weir {

enum class ConditionalKind : std::uint8_t;
struct ArgumentTypes;
struct LaunchConfig;

/// What an operation does.
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
  external,  ///< what the program notes with `external_work`, and collectives
  // The order of streams.
  record,
  wait_event,
  wait_stream,
  // The host's part.
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
  // What a device may address besides its own memory.
  enable_peer_access,
  disable_peer_access,
  set_name,  ///< of a stream, an event or an allocation
};
/// "wait_event"
WEIR_API std::string_view to_string(OperationKind) noexcept;

/// What holds for all operations of a kind.
struct OperationTraits {
  bool is_in_order = false;      ///< given to a stream, it takes its turn there
  bool is_work = false;          ///< it takes the stream's time, which an order or stream-ordered memory does not
  bool reads = false;            ///< it may read the memory in `accesses` and `memory_operations`
  bool writes = false;           ///< it may write the memory there
  bool may_be_captured = false;  ///< it can become a node of a graph
};

/// The one list of what the kinds are. A new kind gets its row here, and the compiler warns of one that has none.
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
    case OperationKind::prefetch:  // it moves memory and leaves the contents: it may run beside what writes them
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
    case OperationKind::set_name: break;
  }
  return {};
}

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
  StreamKey awaited;             ///< `wait_stream`: the stream that is waited for
  const Device* peer = nullptr;  ///< `enable_peer_access`, `disable_peer_access`: whose memory
  const Event* event = nullptr;
  /// `record_external`, `wait_external`: each launch of the graph records the event, or waits for it.
  bool in_graph = false;
  /// What it reads and writes. Kernels: what their arguments name, which is not more than what `touches` and `Accessed` say.
  /// `allocate`, `free`, `module_global`: the memory.
  std::span<const MemoryAccess> accesses;
  std::span<const MemoryOperation> memory_operations;
  const Kernel* kernel = nullptr;
  const Module* module{};  ///< `module_global`: whose variable it is
  const LaunchConfig* config = nullptr;
  void* const* arguments = nullptr;               ///< `kernel`: where each lies
  const ArgumentTypes* argument_types = nullptr;  ///< `kernel`: their sizes, and what is known of their types
  std::span<const std::byte> element;             ///< `fill`: what every element of its memory becomes
  std::uint32_t word_size = 0;                    ///< `fill`: the bytes that one memset of the driver's repeats
  ConditionalKind conditional{};                  ///< `conditional`
  std::size_t bodies = 0;                         ///< the same: how many, which are captured in turn
  const Graph* graph = nullptr;      ///< `instantiate`, `update_graph`, `clone_graph`, `child_graph`: what it is made of
  const GraphExec* exec = nullptr;   ///< the executable; of `instantiate` in `after` alone
  const Graph* new_graph = nullptr;  ///< `end_capture`, `clone_graph`: the result, in `after` alone
  const Allocation* allocation = nullptr;
  const GraphChanges* changes = nullptr;       ///< `change_nodes`
  std::span<const GraphNode> dependencies;     ///< `capture_dependencies`
  /// Of work that became nodes of a graph: the last of them, in `after` alone.
  std::optional<GraphNode> node;
  /// The capture that the operation became a node of, or that it begins or ends: it does not run by itself then.
  std::uint64_t capture = 0;
  std::uint64_t thread = 0;         ///< counts threads
  std::uint64_t host_function = 0;  ///< the operation whose host function makes this call, or 0
  std::string_view tag;             ///< the innermost `Range` of the thread
  /// `set_name`: the name; `host_function`: that of the function, if it has one; `module_global`: that of the variable.
  std::string_view label;
  bool is_complete = false;         ///< `query`: the answer, in `after`
  bool has_failed = false;          ///< in `after`: it threw, and nothing was submitted
};

/// A node of a launched graph that has run. What it points to is valid during the call only, numbers until the launch ends.
struct NodeRun {
  std::uint64_t launch = 0;      ///< the operation that launched the graph
  const void* node = nullptr;    ///< tells the nodes of one launch apart
  const void* parent = nullptr;  ///< the child graph, or conditional node, that it is in; null for the launch's own
  NodeKind kind{};
  std::string_view kernel;  ///< a kernel's name
  std::uint64_t bytes = 0;  ///< that a copy or a fill writes
  /// From when its work began, not from when it could have, until all of it was done.
  std::chrono::steady_clock::time_point begin, end;
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

}  // namespace weir
