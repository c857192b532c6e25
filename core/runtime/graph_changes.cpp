// SPDX-License-Identifier: Apache-2.0
#include "weir/graph_changes.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "core/runtime/tools.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

// The functions of `GraphChanges`, and the errors for changes that do not fit a graph.
namespace weir {

void support::throw_impossible_change(const std::string& object, const NodeChange& change, std::optional<NodeKind> kind,
                            std::size_t count) {
  const auto throw_error = [&](const std::string& cause) {
    throw Error(Errc::graph_update_failed, "GraphExec::apply", object, cause + "; nothing was changed");
  };
  const std::string node = "node " + std::to_string(change.node.index);
  if (!kind) throw_error("there is no " + node + ": the graph has " + std::to_string(count) + " nodes");
  std::string_view wanted;
  switch (change.kind) {
    case NodeChange::Kind::kernel: wanted = "kernel"; break;
    case NodeChange::Kind::copy: wanted = "copy"; break;
    case NodeChange::Kind::fill: wanted = "fill"; break;
    case NodeChange::Kind::enable:
    case NodeChange::Kind::disable:
      throw_error(node + " is a " + std::string(to_string(*kind)) + "; only kernels, copies and fills can be disabled");
  }
  throw_error(node + " is a " + std::string(to_string(*kind)) + ", but the change is for a " + std::string(wanted));
  __builtin_unreachable();
}

void support::throw_no_such_node(const char* operation, const std::string& object, GraphNode node, std::size_t count) {
  throw Error(Errc::invalid_argument, operation, object,
              "there is no node " + std::to_string(node.index) + ": the graph being captured has " + std::to_string(count));
}

void GraphChanges::clear() noexcept {
  changes_.clear();
  arguments_.clear();
  accesses_.clear();
}

void** GraphChanges::arguments_of(const NodeChange& change) const {
  if (addresses_.size() < change.parameters.size()) addresses_.resize(change.parameters.size());
  auto* at = const_cast<Slot*>(arguments_.data() + change.first_argument);
  for (std::size_t i = 0; i < change.parameters.size(); ++i) {
    addresses_[i] = at;
    at += slots_of(change.parameters[i].size);
  }
  return addresses_.data();
}

namespace {

/// Returns a copy of the parameters that is never freed, because a change may outlive the caller's array. Equal arrays share
/// one copy; programs have few different ones.
std::span<const Parameter> lasting(std::span<const Parameter> parameters) {
  static auto* const known = new std::set<std::vector<Parameter>>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return *known->emplace(parameters.begin(), parameters.end()).first;
}

}  // namespace

void GraphChanges::launch_raw(GraphNode node, KernelRef kernel, const LaunchConfig& config, std::span<void* const> arguments,
                              std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses) {
  if (arguments.size() != parameters.size() || std::ranges::count(arguments, nullptr) != 0) {
    throw Error(Errc::invalid_argument, "GraphChanges::launch_raw", "",
                "each argument needs a size and an address that is not null");
  }
  std::vector<Slot> values;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::size_t at = values.size();
    values.resize(at + slots_of(parameters[i].size));
    std::memcpy(values.data() + at, arguments[i], parameters[i].size);
  }
  add_kernel(node, kernel, config, values, lasting(parameters), accesses);
}

void GraphChanges::add_kernel(GraphNode node, KernelRef kernel, const LaunchConfig& config, std::span<const Slot> arguments,
                              std::span<const Parameter> parameters, std::span<const MemoryAccess> accesses) {
  if (!kernel) throw Error(Errc::invalid_argument, "GraphChanges::launch", "", "the kernel is null");
  NodeChange& change = add(NodeChange::Kind::kernel, node);
  change.kernel = kernel.get();
  change.config = config;
  change.parameters = parameters;
  change.first_argument = static_cast<std::uint32_t>(arguments_.size());
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  if (!detail::is_watched()) return;
  change.first_access = static_cast<std::uint32_t>(accesses_.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (accesses[i].bytes == 0 || accesses[i].address == nullptr) continue;
    accesses_.push_back(detail::known_access(*kernel, i, accesses[i]));
  }
  change.access_count = static_cast<std::uint32_t>(accesses_.size()) - change.first_access;
}

void GraphChanges::add_copy(GraphNode node, void* destination, const void* source, std::size_t bytes) {
  NodeChange& change = add(NodeChange::Kind::copy, node);
  change.destination = destination;
  change.source = source;
  change.count = bytes;
  change.first_access = static_cast<std::uint32_t>(accesses_.size());
  change.access_count = 2;
  accesses_.push_back({source, bytes, AccessKind::read});
  accesses_.push_back({destination, bytes, AccessKind::write});
}

void GraphChanges::add_fill(GraphNode node, void* destination, std::uint32_t value, std::size_t element_size,
                            std::size_t count) {
  NodeChange& change = add(NodeChange::Kind::fill, node);
  change.destination = destination;
  change.value = value;
  change.element_size = static_cast<std::uint32_t>(element_size);
  change.count = count;
  change.first_access = static_cast<std::uint32_t>(accesses_.size());
  change.access_count = 1;
  accesses_.push_back({destination, element_size * count, AccessKind::write});
}

}  // namespace weir
