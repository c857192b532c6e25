// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/host/work.hpp"
#include "weir/graph.hpp"
#include "weir/ptr.hpp"

/// A graph's content: nodes of work and what each comes after.
namespace weir::host {

struct GraphNode {
  NodeKind kind;
  Work work;
  std::vector<std::uint32_t> after;  ///< sorted
};

class GraphData final : public RefCounted {
 public:
  std::vector<GraphNode> nodes;
  /// Memory that was allocated while the graph was captured: there for as long as a graph or an executable needs it.
  std::vector<std::shared_ptr<void>> memory;

  std::uint32_t add(NodeKind kind, Work work, std::vector<std::uint32_t> after);
  Topology topology() const;
  /// Copies the nodes; host functions and memory are shared.
  Ptr<GraphData> copy() const;
};

}  // namespace weir::host
