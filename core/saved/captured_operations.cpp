// SPDX-License-Identifier: Apache-2.0
#include "core/saved/captured_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/saved/saved_work.hpp"
// Records the operations of a portable capture, and matches them to the nodes of the graph.
namespace weir::detail {
namespace {

constexpr std::uint32_t no_one = UINT32_MAX;

std::uintptr_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

void put_launch(CapturedOperation& captured, const Operation& operation, NumberWriter& data) {
  captured.kernel = KernelPtr(const_cast<Kernel*>(operation.kernel));
  captured.addresses.reserve(operation.parameters.size());
  captured.values.reserve(operation.parameters.size());
  data.put(saved_launch(operation, 0));
  for (std::size_t i = 0; i < operation.parameters.size(); ++i) {
    const auto [size, kind, access, update] = operation.parameters[i];
    const auto* const first = static_cast<const std::byte*>(operation.arguments[i]);
    const bool is_address = kind == ParameterKind::address;
    data.put(size);
    data.put(static_cast<std::uint32_t>(is_address));
    if (!is_address) {
      captured.values.push_back({data.bytes.size(), size, i + 1, kind == ParameterKind::unknown && size >= sizeof(void*)});
      data.append({first, size});
      continue;
    }
    void* address = nullptr;
    std::memcpy(&address, first, sizeof(address));
    std::size_t bytes = 0;
    for (const MemoryAccess& each : operation.accesses) {
      if (each.address == address) bytes = std::max(bytes, each.bytes);
    }
    if (address != nullptr) captured.addresses.push_back({data.bytes.size(), bytes, "", i + 1});
    data.put(SavedAddress{SavedAddress::null, 0, number_of(address)});
  }
}

}  // namespace

std::shared_ptr<CapturedWork> CapturedWork::make() { return std::make_shared<CapturedOperations>(); }

void CapturedOperations::record(const Operation& operation, const std::vector<GraphNode>& after,
                                std::vector<std::shared_ptr<const CapturedWork>> bodies) {
  CapturedOperation captured;
  captured.kind = operation.kind;
  captured.name = operation.name;
  captured.inner = std::move(bodies);
  std::string problem;
  NumberWriter data;
  data.bytes.reserve(2 * sizeof(SavedBox) + 24 * operation.parameters.size());  // enough for most operations
  const auto locate = [&](const void* address, std::size_t bytes, const char* what) {
    captured.addresses.push_back({data.bytes.size(), bytes, what, 0});
    return SavedAddress{0, 0, number_of(address)};
  };
  switch (operation.kind) {
    case OperationKind::kernel: put_launch(captured, operation, data); break;
    case OperationKind::child_graph:
    case OperationKind::launch_graph: {
      auto child = operation.exec != nullptr ? CapturedWork::of(*operation.exec) : CapturedWork::of(*operation.graph);
      if (child == nullptr) problem = "is a graph that is not portable; capture it with CaptureOptions::portable";
      captured.kind = OperationKind::child_graph;
      captured.inner.push_back(std::move(child));
      break;
    }
    case OperationKind::record:
    case OperationKind::wait_event:
      if (!operation.in_graph) return;
      problem = "uses an event of this process, which cannot be saved; leave the operation out of the graph";
      break;
    case OperationKind::copy:
    case OperationKind::fill:
    case OperationKind::memory_operations:
    case OperationKind::conditional: put_work(data, operation, locate); break;
    case OperationKind::allocate:
      captured.allocated = operation.accesses.front().address;
      data.put(std::uint64_t{operation.accesses.front().bytes});
      break;
    case OperationKind::free: data.put(locate(operation.accesses.front().address, 1, "the memory")); break;
    case OperationKind::host_function: break;
    default: return;
  }
  captured.data = std::move(data.bytes);
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
