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

/// A node of a graph: its index in `Topology::nodes`. It identifies the same node in the graph's clones and executables.
struct GraphNode {
  std::uint32_t index = 0;
  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

/// The shape of a graph. A node is identified by its index in `nodes`, which has the order of the capture.
struct WEIR_API Topology {
  std::vector<NodeKind> nodes;
  /// (from, to): node `to` runs after node `from`.
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

/// Options for instantiating a graph.
struct InstantiateOptions {
  /// If true, each launch frees memory that the previous launch allocated and did not free
  /// (cudaGraphInstantiateFlagAutoFreeOnLaunch). Destroying the executable frees the memory left by the last launch, after
  /// that launch: other work that uses the memory must be over by then. If false, the program must free that memory by the
  /// vendor's call before the next launch; if true, it must not.
  bool auto_free_on_launch = true;
};

/// Captured work. Owns the host functions, the modules of its kernels, and memory allocated in the capture. Copies and
/// kernels use the addresses from capture time, so memory allocated outside must live while the graph runs.
///
/// Several threads may read a graph. While a capture continues a graph (`resume_capture`), it may be read only through
/// `Stream::capture_info`.
class WEIR_API Graph : public RefCounted {
 public:
  ~Graph() override;
  /// The device that the graph was captured on.
  Device& device() const noexcept { return device_; }
  /// The vendor's graph (cudaGraph_t, hipGraph_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

  /// The number of nodes. A child graph is one node.
  [[nodiscard]] std::size_t node_count() const;
  /// Nodes and edges. A child graph is one node.
  [[nodiscard]] Topology topology() const;
  /// The graph in Graphviz's language. Feature `graph_debug_dot`.
  [[nodiscard]] std::string debug_dot() const;
  /// An independent copy that shares the host functions. Throws `unsupported` for a graph that allocates memory, because its
  /// nodes contain the addresses. Feature `graph_clone`.
  GraphPtr clone() const;
  /// Makes an executable graph. The graph may be empty, and may be dropped afterwards. A graph that allocates memory can
  /// have one executable at a time: throws `unsupported` while there is another.
  GraphExecPtr instantiate(const InstantiateOptions& options = {}) const;

  /// Writes the graph to a file, which `Device::load_graph` reads on any device of any vendor: see weir/portable_graph.hpp.
  /// `memory` names all memory that the graph uses, except its own allocations. Only this user can access the file; an
  /// existing file is replaced. Throws `unsupported` for a graph that was not captured as `portable`, and for a node that
  /// cannot be saved, with the node and the reason; `invalid_argument` for an address outside of all named memory.
  void save(const std::string& file, std::initializer_list<NamedMemory> memory) const;
  void save(const std::string& file, std::span<const NamedMemory> memory) const;
  /// The content of the file that `save` writes.
  [[nodiscard]] std::vector<std::byte> saved(std::span<const NamedMemory> memory) const;

  /// "cuda:0 graph 0x7f…"
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
  std::shared_ptr<const detail::CapturedWork> captured_work_;  // of a portable capture, or of a loaded graph; otherwise null
};

/// An executable graph. Launches of one executable run one after another, whatever their streams.
class WEIR_API GraphExec : public RefCounted {
 public:
  ~GraphExec() override;
  /// The device of the streams that can launch it.
  Device& device() const noexcept { return device_; }
  /// The vendor's executable. Valid until the next update, which may replace it.
  void* native_handle() const noexcept { return handle_; }

  /// Enqueues one run of the whole graph on `stream`, which must belong to the graph's device (`wrong_device`). On a
  /// capturing stream, the graph becomes a child node, which throws `unsupported` if it allocates memory. The next
  /// `synchronize` of `stream` rethrows exceptions of the graph's host functions.
  void launch(StreamRef stream);
  /// Prepares the first launch ahead of time, in the order of `stream`. Feature `graph_upload`.
  void upload(StreamRef stream);
  /// Replaces the parameters of all nodes by those of `graph`, which must have the same shape. Later launches use them, and
  /// nodes that were disabled are enabled again. If
  /// the shapes differ, or one of the graphs allocates memory, throws `graph_update_failed`, which names the cause, and
  /// changes nothing. Feature `graph_update`.
  void update(GraphRef graph);
  /// Makes all of `changes` to nodes of the graph that this was instantiated from. Later launches use them; running ones do
  /// not. Throws `graph_update_failed` if a node does not exist or is of another kind, and `invalid_argument` like a launch;
  /// then nothing is changed. If the driver refuses a change, the error contains how many are in effect. A changed
  /// executable cannot be launched on a capturing stream (`unsupported`) until it is updated.
  /// (cuGraphExecKernelNodeSetParams, cuGraphNodeSetEnabled.) Feature `graph_node_changes`.
  void apply(const GraphChanges& changes);

  /// "cuda:0 executable graph 0x7f…"
  [[nodiscard]] std::string describe() const;

 private:
  friend class Graph;
  friend class GraphExecImpl;
  friend class detail::CapturedWork;
  GraphExec(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}

  Device& device_;
  void* handle_;
  std::atomic<bool> changed_{false};  // by `apply`, since the last update
  std::shared_ptr<const detail::CapturedWork> captured_work_;  // the graph's
};

}  // namespace weir
