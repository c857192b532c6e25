// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"
#include "weir/ref.hpp"
#include "weir/stream_ref.hpp"

/// Graphs: captured work, which can be inspected, instantiated and launched many times.
namespace weir {

/// What a node of a graph does.
enum class NodeKind : std::uint8_t {
  kernel, copy, fill, host_function, child_graph, empty, event_record, event_wait, memory_operations, allocate, free,
  conditional, other,
};
WEIR_API std::string_view to_string(NodeKind) noexcept;

/// Identifies a node of a graph by its index in `Topology::nodes`. The node has the same index in clones and executables of
/// the graph.
struct GraphNode {
  std::uint32_t index = 0;
  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

/// The nodes and edges of a graph. Nodes are in the order of the capture; a node's number is its index in `nodes`.
struct WEIR_API Topology {
  std::vector<NodeKind> nodes;
  /// Pairs (from, to) of node numbers: node `to` runs after node `from`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;

  /// The number of nodes of that kind.
  std::size_t count(NodeKind) const noexcept;
  /// Whether a path of edges leads from one node to the other.
  bool reaches(std::uint32_t from, std::uint32_t to) const;
  /// The nodes without a predecessor.
  std::vector<std::uint32_t> roots() const;
  /// The nodes without a successor.
  std::vector<std::uint32_t> leaves() const;
};

/// The options of `Graph::instantiate`.
struct InstantiateOptions {
  /// Who frees memory that a launch allocates and does not free. If true (cudaGraphInstantiateFlagAutoFreeOnLaunch), the
  /// next launch frees it, or after the last launch the destruction of the executable. Work outside the graph that uses this
  /// memory must be done by then. If false, the program must free it with the vendor's call (cudaFreeAsync) before the next
  /// launch.
  bool auto_free_on_launch = true;
};

/// Captured work (cudaGraph_t). A graph owns its host functions, the modules of its kernels, and the memory allocated in the
/// capture. Nodes contain the addresses that were captured, so all other memory that the graph uses must live while the
/// graph runs.
///
/// Several threads may read a graph concurrently. While a stream continues to capture into a graph
/// (`Stream::resume_capture`), the graph may be read only through `Stream::capture_info`.
class WEIR_API Graph : public RefCounted {
 public:
  ~Graph() override;
  /// The device that the graph was captured on.
  Device& device() const noexcept { return device_; }
  /// The vendor's graph (cudaGraph_t, hipGraph_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

  /// The number of nodes. A child graph counts as one node. (cudaGraphGetNodes)
  [[nodiscard]] std::size_t node_count() const;
  /// The nodes and edges. A child graph is one node. (cudaGraphGetNodes, cudaGraphGetEdges)
  [[nodiscard]] Topology topology() const;
  /// The graph in Graphviz's DOT language. Feature `graph_debug_dot`. (cudaGraphDebugDotPrint)
  [[nodiscard]] std::string debug_dot() const;
  /// Returns an independent copy that shares the host functions. Throws `unsupported` for a graph that allocates memory,
  /// because both copies would use the same addresses. Feature `graph_clone`. (cudaGraphClone)
  GraphPtr clone() const;
  /// Makes an executable graph. The graph may be empty, and need not outlive the executable. Throws `unsupported` for a
  /// graph that allocates memory and has another executable, because both would use the same addresses.
  /// (cudaGraphInstantiate)
  GraphExecPtr instantiate(const InstantiateOptions& options = {}) const;

  /// Writes the graph to a file that `Device::load_graph` can read on any device of any vendor: see weir/portable_graph.hpp.
  /// `memory` names all memory that the graph uses, except memory that the graph itself allocates. An existing file is
  /// replaced. Only this user can access the new file. Throws `unsupported` for a graph that was captured without
  /// `CaptureOptions::portable`, and for a node that cannot be saved, with the reason; `invalid_argument` for a node whose
  /// address is in none of the named memory.
  void save(const std::string& file, std::initializer_list<NamedMemory> memory) const;
  void save(const std::string& file, std::span<const NamedMemory> memory) const;
  /// Returns the bytes that `save` would write to the file.
  [[nodiscard]] std::vector<std::byte> saved(std::span<const NamedMemory> memory) const;

  /// Describes the graph: "cuda:0 graph 0x7f…".
  [[nodiscard]] std::string describe() const;

 private:
  friend class GraphImpl;
  friend class GraphExec;
  friend class PortableGraph;
  friend class Stream;
  friend class detail::CapturedWork;
  Graph(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}

  Device& device_;
  void* handle_;
  // The recorded operations of a portable capture or a loaded graph; otherwise null.
  std::shared_ptr<const detail::CapturedWork> captured_work_;
};

/// An executable graph (cudaGraphExec_t). Launches of one executable run one after another, even on different streams.
class WEIR_API GraphExec : public RefCounted {
 public:
  ~GraphExec() override;
  /// The device of the streams that can launch the executable.
  Device& device() const noexcept { return device_; }
  /// The vendor's executable. Valid until the next update, which may replace it.
  void* native_handle() const noexcept { return handle_; }

  /// Enqueues one run of the whole graph on `stream`, which must belong to the graph's device (`wrong_device`). On a
  /// capturing stream, the graph becomes a child node instead; this throws `unsupported` if the graph allocates memory. The
  /// next `synchronize` of `stream` rethrows exceptions of the graph's host functions. (cudaGraphLaunch)
  void launch(StreamRef stream);
  /// Does the driver's preparations for the first launch now, in the order of `stream`, so that the launch takes less time.
  /// Feature `graph_upload`. (cudaGraphUpload)
  void upload(StreamRef stream);
  /// Replaces the parameters of all nodes by the parameters of `graph`, which must have the same nodes and edges. Later
  /// launches use the new parameters; running launches do not. Enables all nodes again. Throws `graph_update_failed`, with
  /// the cause, and changes nothing if the graphs differ in shape or one of them allocates memory. Feature `graph_update`.
  /// (cudaGraphExecUpdate)
  void update(GraphRef graph);
  /// Changes single nodes. Node numbers are those of the graph that this executable was made from. Later launches use the
  /// changed nodes; running launches do not. Throws `graph_update_failed` if a node does not exist or has another kind, and
  /// `invalid_argument` for invalid launch arguments; then nothing is changed. If the driver rejects a change, the earlier
  /// ones remain, and the error contains their number. A changed executable cannot be launched on a capturing stream
  /// (`unsupported`) before its next `update`. Feature `graph_node_changes`. (cuGraphExecKernelNodeSetParams,
  /// cuGraphNodeSetEnabled)
  void apply(const GraphChanges& changes);

  /// Describes the executable: "cuda:0 executable graph 0x7f…".
  [[nodiscard]] std::string describe() const;

 private:
  friend class Graph;
  friend class GraphExecImpl;
  friend class detail::CapturedWork;
  GraphExec(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}

  Device& device_;
  void* handle_;
  std::atomic<bool> changed_{false};  // whether `apply` has changed nodes since the last `update`
  std::shared_ptr<const detail::CapturedWork> captured_work_;  // shared with the graph
};

}  // namespace weir
