// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/graph_data.hpp"

#include <algorithm>
#include <utility>

#include "backends/host/engine/executable.hpp"
#include "weir/error.hpp"

namespace weir::host {

namespace {

constexpr std::uint32_t max_depth = 1000;

}  // namespace

std::span<const Ptr<GraphData>> nested_graphs(const Work& work) noexcept {
  if (const auto* const sub_graph = std::get_if<SubGraph>(&work)) return {&sub_graph->graph, 1};
  if (const auto* const conditional = std::get_if<Conditional>(&work)) return conditional->bodies;
  return {};
}

void check_nesting(const char* operation, const std::string& object, const GraphData& inner) {
  if (inner.depth < max_depth) return;
  throw Error(Errc::invalid_argument, operation, object,
              "the graph has " + std::to_string(inner.depth) +
                  " levels of nested graphs, which is the limit; capture the work of several levels in one graph");
}

std::uint32_t GraphData::add(NodeKind kind, Work work, std::vector<std::uint32_t> after) {
  for (const Ptr<GraphData>& inner : nested_graphs(work)) depth = std::max(depth, inner->depth + 1);
  nodes.push_back({kind, std::move(work), std::move(after)});
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

Topology GraphData::topology() const {
  Topology result;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    result.nodes.push_back(nodes[i].kind);
    for (const std::uint32_t before : nodes[i].after) result.edges.emplace_back(before, i);
  }
  return result;
}

Ptr<GraphData> GraphData::copy() const {
  auto result = make_ptr<GraphData>();
  result->nodes = nodes;
  result->memory = memory;
  result->depth = depth;
  return result;
}

}  // namespace weir::host
