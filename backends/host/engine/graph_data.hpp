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

/// A graph's content: nodes of work and what each comes after.
namespace weir::host {

struct NodeData {
  NodeKind kind;
  Work work;
  std::vector<std::uint32_t> after;  ///< sorted
  bool is_disabled = false;          ///< by GraphExec::apply
  std::size_t captured_bytes = 0;    ///< for a copy that GraphExec::apply has changed
};

class GraphData final : public RefCounted {
 public:
  std::vector<NodeData> nodes;
  /// Memory allocated while the graph was captured. It lives as long as the graph or an executable.
  std::vector<std::shared_ptr<void>> memory;
  std::uint32_t depth = 0;  ///< levels of graphs nested in it

  std::uint32_t add(NodeKind kind, Work work, std::vector<std::uint32_t> after);
  Topology topology() const;
  /// Copies the nodes; host functions and memory are shared.
  Ptr<GraphData> copy() const;
};

/// The graph of a child-graph node, or the bodies of a conditional node; empty for other work.
std::span<const Ptr<GraphData>> nested_graphs(const Work& work) noexcept;

/// Graphs are prepared, run and destroyed recursively, which needs stack. Throws `invalid_argument` if `inner` is nested too
/// deeply to be added to a graph.
void check_nesting(const char* operation, const std::string& object, const GraphData& inner);

}  // namespace weir::host
