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
  std::size_t captured_bytes = 0;    ///< of a copy that GraphExec::apply has changed
};

class GraphData final : public RefCounted {
 public:
  std::vector<NodeData> nodes;
  /// Memory that was allocated while the graph was captured: there for as long as a graph or an executable needs it.
  std::vector<std::shared_ptr<void>> memory;
  std::uint32_t depth = 0;  ///< how many levels of graphs are nested in it

  std::uint32_t add(NodeKind kind, Work work, std::vector<std::uint32_t> after);
  Topology topology() const;
  /// Copies the nodes; host functions and memory are shared.
  Ptr<GraphData> copy() const;
};

/// The graph of a node that is one, or the bodies of a conditional node; none for other work.
std::span<const Ptr<GraphData>> nested_graphs(const Work& work) noexcept;

/// Graphs are prepared, run and destroyed by recursion, which needs stack. Throws `invalid_argument` if `inner` is nested so
/// deep that it can be part of no other graph.
void check_nesting(const char* operation, const std::string& object, const GraphData& inner);

}  // namespace weir::host
