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

/// A node of a graph: its index in `Topology::nodes`. It names the same node in the graph's clones and executables.
struct GraphNode {
  std::uint32_t index = 0;
  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

/// The shape of a graph. A node is named by its index in `nodes`, which is in the order of the capture.
struct WEIR_API Topology {
  std::vector<NodeKind> nodes;
  /// (from, to): node `to` runs after node `from`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;

  /// How many nodes there are of that kind.
  std::size_t count(NodeKind) const noexcept;
  /// Whether a path of edges leads from one node to the other.
  bool reaches(std::uint32_t from, std::uint32_t to) const;
  /// The nodes without a predecessor, and those without a successor.
  std::vector<std::uint32_t> roots() const;
  /// The nodes that no edge leaves.
  std::vector<std::uint32_t> leaves() const;
};

/// How a graph is made ready to run.
struct InstantiateOptions {
  /// Each launch frees memory that the launch before allocated and did not free (cudaGraphInstantiateFlagAutoFreeOnLaunch).
  /// The executable's end frees what the last launch left, behind that launch: other work that uses the memory must be over
  /// by then. If false, the program frees that memory by the vendor's call, before the next launch; if true, it must not.
  bool auto_free_on_launch = true;
};

/// Captured work. Owns the host functions, the modules of its kernels, and memory that was allocated in the capture. Copies
/// and kernels use the addresses of capture time: memory that was allocated outside must live while the graph runs.
///
/// Several threads may read a graph. While a capture continues a graph (`resume_capture`), it may be read only through
/// `Stream::capture_info`.
class WEIR_API Graph : public RefCounted {
 public:
  /// The device that the graph was captured on.
  Device& device() const noexcept { return device_; }
  /// The vendor's graph (cudaGraph_t, hipGraph_t). This object still owns it.
  void* native_handle() const noexcept { return handle_; }

  /// How many nodes there are. A child graph is one node.
  [[nodiscard]] std::size_t node_count() const;
  /// Nodes and edges. A child graph is one node.
  [[nodiscard]] Topology topology() const;
  /// The graph in Graphviz's language. Feature `graph_debug_dot`.
  [[nodiscard]] std::string debug_dot() const;
  /// An independent copy that shares the host functions. Throws `unsupported` for a graph that allocates memory, since its
  /// nodes hold the addresses. Feature `graph_clone`.
  GraphPtr clone() const;
  /// Makes an executable graph. The graph may be empty, and may be dropped afterwards. A graph that allocates memory can
  /// have one executable at a time: throws `unsupported` while there is another.
  GraphExecPtr instantiate(const InstantiateOptions& options = {}) const;

  /// Writes the graph to a file, which `Device::load_graph` reads on any device of any vendor: see weir/portable_graph.hpp.
  /// `memory` names all memory that the graph uses, except what it allocates itself. The file is this user's alone; a former
  /// one is replaced. Throws `unsupported` for a graph that was not captured as `portable`, and for a node that cannot
  /// travel, saying which and why; `invalid_argument` for an address in no memory that has a name.
  void save(const std::string& file, std::initializer_list<NamedMemory> memory) const;
  void save(const std::string& file, std::span<const NamedMemory> memory) const;
  /// What `save` writes.
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
  std::shared_ptr<const detail::CapturedWork> captured_work_;  // of a portable capture, or of a loaded graph; else null
};

/// An executable graph. Launches of one executable run one after another, whatever their streams.
class WEIR_API GraphExec : public RefCounted {
 public:
  /// The device on whose streams it is launched.
  Device& device() const noexcept { return device_; }
  /// Valid until the next update, which may replace it.
  void* native_handle() const noexcept { return handle_; }

  /// Enqueues one run of the whole graph on `stream`, which must be of the graph's device (`wrong_device`). On a capturing
  /// stream, the graph becomes a child node; throws `unsupported` then if it allocates memory. The next `synchronize` of
  /// `stream` rethrows exceptions of the graph's host functions.
  void launch(StreamRef stream);
  /// Prepares the first launch ahead of time, in the order of `stream`. Feature `graph_upload`.
  void upload(StreamRef stream);
  /// Replaces the parameters of all nodes by those of `graph`, which must have the same shape. Later launches use them, and
  /// nodes that were disabled are enabled again. If
  /// the shapes differ, or one of the graphs allocates memory, throws `graph_update_failed`, which names the cause, and
  /// changes nothing. Feature `graph_update`.
  void update(GraphRef graph);
  /// Makes all of `changes` to nodes of the graph that this was instantiated from. Later launches use them; running ones do
  /// not. Throws `graph_update_failed` if a node is not there or is of another kind, and `invalid_argument` as a launch
  /// does; nothing is changed then. If the driver refuses a change, the error tells how many are in effect. A changed
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
