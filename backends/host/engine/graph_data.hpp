// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/host/engine/work.hpp"
#include "weir/graph.hpp"
#include "weir/ptr.hpp"

/// The content of a graph: nodes of work, and the nodes that each depends on.
namespace weir::host {

struct NodeData {
  NodeKind kind;
  Work work;
  std::vector<std::uint32_t> after;  ///< indices of the nodes that this one depends on, sorted
  bool is_disabled = false;          ///< whether GraphExec::apply has disabled the node
  std::size_t captured_bytes = 0;    ///< original size of the arguments, for a copy that GraphExec::apply has changed
};

class GraphData final : public RefCounted {
 public:
  std::vector<NodeData> nodes;
  /// Memory that was allocated while the graph was captured. It lives as long as the graph or an executable of it.
  std::vector<std::shared_ptr<void>> memory;
  std::uint32_t depth = 0;  ///< how many levels of graphs are nested in this one

  std::uint32_t add(NodeKind kind, Work work, std::vector<std::uint32_t> after);
  Topology topology() const;
  /// Copies the nodes. The copy shares host functions and memory with this graph.
  Ptr<GraphData> copy() const;
};

/// The graph of a child-graph node, or the bodies of a conditional node; empty for other work.
std::span<const Ptr<GraphData>> nested_graphs(const Work& work) noexcept;

/// Throws `invalid_argument` if `inner` is nested too deeply to be added to a graph. Graphs are prepared, run and destroyed
/// recursively, so the depth is limited by the stack.
void check_nesting(const char* operation, const std::string& object, const GraphData& inner);

}  // namespace weir::host
