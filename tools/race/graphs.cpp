// SPDX-License-Identifier: Apache-2.0
#include "tools/race/graphs.hpp"

#include <algorithm>
#include <utility>

#include "weir/graph_changes.hpp"

namespace weir::race {

Graphs::Lane& Graphs::lane_of(Capture& capture, const StreamKey& stream) {
  const auto [there, is_new] = capture.lanes.try_emplace(stream);
  if (is_new) there->second.number = ++capture.last_lane;  // from 1, because the host is lane 0
  return there->second;
}

bool Graphs::join(const Operation& operation) {
  if (operation.kind == OperationKind::wait_event) {
    const Recorded& recorded = events_.at(operation.event);
    if (!recorded.is_captured()) return false;
    if (Capture* const capture = graphs_.find(recorded.capture))
      lane_of(*capture, operation.stream_key).clock.join(recorded.clock);
    return true;
  }
  for (auto& [id, capture] : graphs_.captures()) {
    const auto other = capture.lanes.find(operation.awaited);
    if (other == capture.lanes.end()) continue;
    const Clock clock = other->second.clock;
    lane_of(capture, operation.stream_key).clock.join(clock);
    return true;
  }
  return false;
}

void Graphs::leave(const StreamKey& stream) {
  for (auto& [id, capture] : graphs_.captures()) capture.lanes.erase(stream);
}

void Graphs::add(const Operation& operation) {
  const model::CaptureId id = model::capture_id(operation);
  Capture& capture = graphs_.capture_of(operation);
  Lane& lane = lane_of(capture, operation.stream_key);
  Clock& clock = lane.clock;
  if (operation.kind == OperationKind::record && !operation.in_graph) {
    events_[operation.event] = {clock, 0, id};
    return;
  }
  if (operation.kind == OperationKind::wait_event && !operation.in_graph) {
    const auto found = events_.find(operation.event);
    if (found != events_.end() && found->second.capture == id) clock.join(found->second.clock);
    return;
  }
  if (operation.kind == OperationKind::wait_stream) {
    if (const auto other = capture.lanes.find(operation.awaited); other != capture.lanes.end())
      clock.join(other->second.clock);
    return;
  }
  if (operation.kind == OperationKind::capture_dependencies) return;  // `after` handles it
  Node node;
  const Point point = node.point = clock.advance(lane.number);
  node.operation = operation.id;
  const StepPtr step = steps_.make(operation);
  const Accessor by = operation.kind == OperationKind::conditional ? Accessor::watcher : Accessor::work;
  for (const MemoryAccess& memory : operation.accesses) {
    if (memory.bytes == 0) continue;
    const Access& access = node.accesses.emplace_back(make_access(memory, point, step, by));
    check_freed(capture, operation.kind, access, clock);
    if (access.writes()) capture.values.overwrite({access.region, point, clock, {}}, false, report_);
  }
  for (const MemoryOperation& each : operation.memory_operations) {
    if (each.is_write()) node.accesses.push_back(make_access(model::access_of(each), point, step, Accessor::value));
  }
  if (operation.kind == OperationKind::host_function) node.host_functions.push_back(operation.id);
  if (operation.kind == OperationKind::record) node.recorded.push_back(operation.event);
  if (operation.kind == OperationKind::wait_event) node.awaited.push_back(operation.event);
  if (const std::vector<Node>* const inner = graphs_.nodes_of(operation)) add_nodes(node, *inner);
  node.memory_operations.insert(node.memory_operations.end(), operation.memory_operations.begin(),
                                operation.memory_operations.end());
  // A launch does not wait for values that the graph itself writes.
  std::erase_if(node.memory_operations, [&](const MemoryOperation& each) {
    return capture.values.operate(each, point, clock, report_) && !each.is_write();
  });
  node.clock = clock;
  capture.nodes.push_back(std::move(node));
  if (operation.kind == OperationKind::conditional) graphs_.begin_conditional(operation);
}

void Graphs::add_allocation(const Operation& operation, StepPtr step) {
  Node* const node = node_of(operation);
  if (node == nullptr) return;
  const Access& access = node->accesses.emplace_back(make_access(operation.accesses.front(), node->point, std::move(step)));
  check_freed(graphs_.capture_of(operation), operation.kind, access, node->clock);
}

/// Adds a child graph as one node that does the work of all its nodes.
void Graphs::add_nodes(Node& node, const std::vector<Node>& nodes) {
  const auto append = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
  for (const Node& inner : nodes) {
    append(node.accesses, inner.accesses);
    append(node.memory_operations, inner.memory_operations);
    append(node.host_functions, inner.host_functions);
    append(node.recorded, inner.recorded);
    append(node.awaited, inner.awaited);
  }
  for (Access& access : node.accesses) access.point = node.point;
}

/// Returns the operation's node, or null.
Node* Graphs::node_of(const Operation& operation) {
  Capture* const capture = graphs_.find(model::capture_id(operation));
  if (capture == nullptr) return nullptr;
  const auto found = std::find_if(capture->nodes.rbegin(), capture->nodes.rend(),
                                  [&](const Node& node) { return node.operation == operation.id; });
  return found != capture->nodes.rend() ? &*found : nullptr;
}

/// Reports an access to memory that another node of the capture frees, if the two nodes are not ordered.
void Graphs::check_freed(Capture& capture, OperationKind kind, const Access& access, const Clock& clock) {
  if (kind == OperationKind::allocate) {
    std::erase_if(capture.freed, [&](const Access& freed) { return freed.region.overlaps(access.region); });
    return;
  }
  bool open = false;
  for (const Access& freed : capture.freed) {
    if (!freed.region.overlaps(access.region) || !clock.covers(freed.point, open)) continue;
    if (const Block* const block = memory_.find(access.region.begin))
      report_.add(Fault::use_after_free, freed, access, *block, "");
  }
  if (kind == OperationKind::free) capture.freed.push_back(access);
}

void Graphs::withdraw(const Operation& operation) {
  Capture* const capture = graphs_.find(model::capture_id(operation));
  if (capture == nullptr) return;
  std::erase_if(capture->nodes, [&](const Node& node) { return node.operation == operation.id; });
  std::erase_if(capture->freed, [&](const Access& freed) { return freed.is_of(operation.id); });
}

void Graphs::follow(const Operation& operation) {
  const auto finish_capture = [this](Capture& capture) { finish(capture); };
  if (operation.kind == OperationKind::conditional) {
    const std::vector<Node> bodies = graphs_.end_conditional(operation, finish_capture);
    if (Node* const node = node_of(operation)) {
      add_nodes(*node, bodies);
      node->node = operation.node;
    }
    return;
  }
  graphs_.follow(operation, finish_capture);
  if (operation.kind == OperationKind::change_nodes && !operation.has_failed) change_nodes(operation);
  if (operation.kind == OperationKind::capture_dependencies && !operation.has_failed) set_dependencies(operation);
  if (operation.node) {
    if (Node* const node = node_of(operation)) node->node = operation.node;
  }
  if (operation.kind != OperationKind::begin_capture || operation.has_failed) return;
  // A capture that continues a graph comes after all of the graph's work.
  Capture& capture = graphs_.capture_of(operation);
  Clock all;
  for (const Node& node : capture.nodes) {
    all.join(node.clock);
    capture.last_lane = std::max(capture.last_lane, node.point.lane);
  }
  lane_of(capture, operation.stream_key).clock.join(all);
}

/// Treats the dependencies as a wait of another stream for these nodes. An unknown node counts as all nodes.
void Graphs::set_dependencies(const Operation& operation) {
  Capture& capture = graphs_.capture_of(operation);
  Lane& lane = lane_of(capture, operation.stream_key);
  Clock clock;
  std::size_t found = 0;
  const auto is_named = [&](const Node& node) {
    return std::any_of(operation.dependencies.begin(), operation.dependencies.end(),
                       [&](GraphNode each) { return node.node == each; });
  };
  for (const Node& node : capture.nodes) {
    if (!is_named(node)) continue;
    clock.join(node.clock);
    ++found;
  }
  if (found < operation.dependencies.size()) {
    for (const Node& node : capture.nodes) clock.join(node.clock);
  }
  lane.number = ++capture.last_lane;
  lane.clock = clock;
}

void Graphs::change_nodes(const Operation& operation) {
  const StepPtr step = steps_.make(operation);
  graphs_.change(operation.exec, [&](std::vector<Node>& nodes) {
    for (const NodeChange& change : operation.changes->changes()) {
      const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const Node& each) { return each.node == change.node; });
      if (node == nodes.end()) continue;
      switch (change.kind) {
        case NodeChange::Kind::enable: node->is_disabled = false; continue;
        case NodeChange::Kind::disable: node->is_disabled = true; continue;
        default: break;
      }
      node->accesses.clear();
      for (const MemoryAccess& access : operation.changes->accesses_of(change))
        node->accesses.push_back(make_access(access, node->point, step));
    }
    report_races(nodes);
  });
}

/// Removes the waits for values that the capture itself writes later.
void Graphs::finish(Capture& capture) {
  for (Node& node : capture.nodes) {
    std::erase_if(node.memory_operations,
                  [&](const MemoryOperation& each) { return each.is_wait() && !capture.values.is_open(each); });
  }
  report_races(capture.nodes);
}

/// Reports nodes that may run at the same time and touch the same memory.
void Graphs::report_races(const std::vector<Node>& nodes) {
  struct Entry {
    const Access* access;
    const Node* node;
  };
  std::vector<Entry> entries;
  for (const Node& node : nodes) {
    if (node.is_disabled) continue;
    for (const Access& access : node.accesses) entries.push_back({&access, &node});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.access->region.begin < b.access->region.begin; });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = i + 1; j < entries.size() && entries[j].access->region.begin < entries[i].access->region.end();
         ++j) {
      const bool in_order = entries[i].node <= entries[j].node;  // report in the order of the capture
      const Entry& first = in_order ? entries[i] : entries[j];
      const Entry& second = in_order ? entries[j] : entries[i];
      bool open = false;
      if (first.node == second.node || !first.access->conflicts_with(*second.access)) continue;
      if (second.node->clock.covers(first.access->point, open) || first.node->clock.covers(second.access->point, open))
        continue;
      if (const Block* const block = memory_.find(std::max(first.access->region.begin, second.access->region.begin)))
        report_.add(Fault::race, first.node->placed(*first.access), second.node->placed(*second.access), *block, "");
    }
  }
}

}  // namespace weir::race
