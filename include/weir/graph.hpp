// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"

/// Graphs: captured work, to be looked at, instantiated and launched again and again.
namespace weir {

struct CaptureState;

enum class NodeKind : std::uint8_t {
  kernel, copy, fill, host_function, child_graph, empty, event_record, event_wait, memory_operations, allocate, free,
  conditional, other,
};
WEIR_API std::string_view to_string(NodeKind) noexcept;

/// A graph's shape. Nodes are named by their place in `nodes`, which is the order in which they were captured.
struct WEIR_API Topology {
  std::vector<NodeKind> nodes;
  /// (from, to): `to` runs after `from`.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;

  /// How many nodes there are of that kind.
  std::size_t count(NodeKind) const noexcept;
  /// Whether a path of edges leads from one node to the other.
  bool reaches(std::uint32_t from, std::uint32_t to) const;
  /// The nodes that no edge leads to, and those that none leads from.
  std::vector<std::uint32_t> roots() const;
  std::vector<std::uint32_t> leaves() const;
};

struct InstantiateOptions {
  /// Memory that the graph allocates and does not free is freed when it is launched again
  /// (cudaGraphInstantiateFlagAutoFreeOnLaunch).
  bool auto_free_on_launch = true;
};

/// Captured work. Owns what the work needs: host functions, and memory allocated in the capture. The addresses that copies
/// and kernels use are those of capture time; the memory behind them must live when the graph is launched.
///
/// Reading a graph from several threads is safe; a graph that is being captured into (`resume_capture`) is not to be read
/// meanwhile, save through `Stream::capture_info`.
class WEIR_API Graph : public RefCounted {
 public:
  Device& device() const noexcept { return device_; }
  /// The vendor's graph (cudaGraph_t, hipGraph_t). Stays owned by this object.
  void* native_handle() const noexcept { return handle_; }

  std::size_t node_count() const;
  Topology topology() const;
  /// The graph in Graphviz's language. Feature `graph_debug_dot`.
  std::string debug_dot() const;
  /// An independent copy. It shares host functions with this one. A graph that allocates memory cannot be copied, since its
  /// nodes hold the addresses: `unsupported`. Feature `graph_clone`.
  GraphPtr clone() const;
  /// Makes an executable graph. An empty graph is allowed. The graph may be dropped afterwards. Of a graph that allocates
  /// memory there can be one executable at a time: `unsupported` while there is another.
  GraphExecPtr instantiate(const InstantiateOptions& options = {}) const;

  std::string describe() const;

 protected:
  Graph(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }

  virtual std::size_t do_node_count() const = 0;
  virtual Topology do_topology() const = 0;
  virtual std::string do_debug_dot() const;
  virtual GraphPtr do_clone() const;
  virtual GraphExecPtr do_instantiate(const InstantiateOptions& options) const = 0;

 private:
  Device& device_;
  void* handle_;
};

/// An executable graph. Launches of one executable run one after another, on whatever streams they are made.
class WEIR_API GraphExec : public RefCounted {
 public:
  Device& device() const noexcept { return device_; }
  /// Until the next update: where those are emulated, the executable is another one then.
  void* native_handle() const noexcept { return handle_; }

  /// Enqueues one run of the whole graph on `stream`, which must be of the graph's device (`wrong_device` else).
  /// On a stream that is capturing, the graph becomes a child node; one that allocates memory cannot (`unsupported`). What a
  /// host function of the graph throws comes out of `stream`'s next `synchronize`.
  void launch(Stream& stream);
  /// Does now, on `stream`, what the first launch would have to do before it runs. Feature `graph_upload`.
  void upload(Stream& stream);
  /// Takes over the parameters of `graph`, which must have the same shape; launches from here on use them.
  /// Throws `graph_update_failed`, naming the difference, and is then unchanged. Feature `graph_update`.
  void update(const Graph& graph);

  std::string describe() const;

 protected:
  GraphExec(Device& device, void* handle) noexcept : device_(device), handle_(handle) {}
  void set_native_handle(void* handle) noexcept { handle_ = handle; }
  Disposal disposal() const noexcept override { return Disposal::driver; }

  /// `capture`: the one that `stream` is in, whose graph then gets this as a child node.
  virtual void do_launch(Stream& stream, const CaptureState& capture) = 0;
  virtual void do_upload(Stream& stream);
  virtual void do_update(const Graph& graph);

 private:
  Device& device_;
  void* handle_;
};

}  // namespace weir
