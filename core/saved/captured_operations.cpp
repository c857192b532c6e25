// SPDX-License-Identifier: Apache-2.0
#include "core/saved/captured_operations.hpp"

#include <fmt/format.h>

#include <algorithm>

// Records the operations of a portable capture, and matches them to the nodes of the graph.
namespace weir::detail {
namespace {

constexpr std::uint32_t no_one = UINT32_MAX;

using Argument = CapturedOperation::Argument;

std::vector<Argument> arguments_of(const Operation& operation) {
  std::vector<Argument> arguments(operation.parameters.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto* const first = static_cast<const std::byte*>(operation.arguments[i]);
    const auto [size, kind, access, update] = operation.parameters[i];
    arguments[i].bytes.assign(first, first + size);
    if (kind == ParameterKind::address) arguments[i].kind = Argument::Kind::address;
    if (kind == ParameterKind::unknown && size >= sizeof(void*)) arguments[i].kind = Argument::Kind::unknown;
  }
  return arguments;
}

}  // namespace

std::shared_ptr<CapturedWork> CapturedWork::make() { return std::make_shared<CapturedOperations>(); }

void CapturedOperations::record(const Operation& operation, const std::vector<GraphNode>& after,
                                std::vector<std::shared_ptr<const CapturedWork>> bodies) {
  CapturedOperation captured;
  captured.kind = operation.kind;
  captured.name = operation.name;
  std::string problem;
  switch (operation.kind) {
    case OperationKind::kernel:
      captured.kernel = KernelPtr(const_cast<Kernel*>(operation.kernel));
      captured.config = *operation.config;
      captured.arguments = arguments_of(operation);
      break;
    case OperationKind::child_graph:
    case OperationKind::launch_graph: {
      auto child = operation.exec != nullptr ? CapturedWork::of(*operation.exec) : CapturedWork::of(*operation.graph);
      if (child == nullptr) problem = "is a graph that is not portable; capture it with CaptureOptions::portable";
      captured.inner.push_back(std::move(child));
      break;
    }
    case OperationKind::conditional:
      captured.conditional = operation.conditional;
      captured.inner = std::move(bodies);
      break;
    case OperationKind::record:
    case OperationKind::wait_event:
      if (!operation.in_graph) return;
      problem = "uses an event of this process, which cannot be saved; leave the operation out of the graph";
      break;
    case OperationKind::copy:
    case OperationKind::fill:
    case OperationKind::host_function:
    case OperationKind::memory_operations:
    case OperationKind::allocate:
    case OperationKind::free: break;
    default: return;
  }
  captured.accesses.assign(operation.accesses.begin(), operation.accesses.end());
  captured.element.assign(operation.element.begin(), operation.element.end());
  captured.word_size = operation.word_size;
  captured.memory_operations.assign(operation.memory_operations.begin(), operation.memory_operations.end());
  captured.function = operation.label;
  for (const GraphNode node : after) captured.after.push_back(node.index);
  std::sort(captured.after.begin(), captured.after.end());
  if (!operation.node) problem = "has no node that the driver reports";
  captured.node = operation.node.value_or(GraphNode()).index;
  const std::lock_guard lock(mutex);
  if (!problem.empty() && flaw.empty()) flaw = fmt::format("node {} ({}) {}", captured.node, operation.name, problem);
  operations.push_back(std::move(captured));
}

void CapturedOperations::settle(const Topology& topology) {
  const std::lock_guard lock(mutex);
  std::stable_sort(operations.begin(), operations.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  std::vector<std::vector<std::uint32_t>> before(topology.nodes.size());
  for (const auto& [from, to] : topology.edges) before[to].push_back(from);
  owners.assign(topology.nodes.size(), no_one);
  const auto foreign = [&](std::uint32_t node) {
    if (flaw.empty()) {
      flaw = fmt::format(
          "node {} was captured by other code, or through another Stream object of the same native stream; capture the work "
          "to be saved only through Weir and one object",
          node);
    }
  };
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    // An operation may have added a chain of several nodes. Walk from its last node back to the nodes that the operation
    // depends on.
    for (std::uint32_t node = operations[i].node;;) {
      if (node >= owners.size() || owners[node] != no_one) {
        foreign(node);
        break;
      }
      owners[node] = i;
      std::sort(before[node].begin(), before[node].end());
      if (before[node] == operations[i].after) break;
      if (before[node].size() != 1) {
        foreign(node);
        break;
      }
      node = before[node].front();
    }
  }
  if (const auto other = std::find(owners.begin(), owners.end(), no_one); other != owners.end())
    foreign(static_cast<std::uint32_t>(other - owners.begin()));
}

}  // namespace weir::detail
