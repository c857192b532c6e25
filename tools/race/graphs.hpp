// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tools/model/graphs.hpp"
#include "tools/model/step.hpp"
#include "tools/race/memory.hpp"
#include "tools/race/report.hpp"
#include "tools/race/streams.hpp"
#include "tools/race/values.hpp"
#include "weir/plugin/operation.hpp"

/// Checks captured work for races.
namespace weir::race {

/// A node of a graph. Its points and clocks use the lanes of its capture.
struct Node {
  std::uint64_t operation = 0;
  std::optional<GraphNode> node;  ///< the driver's node
  bool is_disabled = false;
  Point point;
  Clock clock;
  std::vector<Access> accesses;
  std::vector<MemoryOperation> memory_operations;
  std::vector<std::uint64_t> host_functions;
  std::vector<const Event*> recorded, awaited;  ///< events of `record_external` and `wait_external`

  Access placed(Access access) const {
    if (node) access.node = node->index;
    return access;
  }
};

/// Captured work. Each graph is checked once, with its capture's own clocks.
class Graphs {
 public:
  Graphs(Report& report, model::StepMaker& steps, Memory& memory, Events& events)
      : report_(report), steps_(steps), memory_(memory), events_(events) {}

  /// Adds a captured operation: work, a wait or a record. `add_allocation` adds an allocation's memory later.
  void add(const Operation& operation);
  void add_allocation(const Operation& operation, StepPtr step);
  /// Handles a stream's wait for an event. If the event was recorded in a capture, the stream joins that capture, and the
  /// result is true.
  bool join(const Operation& operation);
  /// Removes the stream from its capture, because it runs work outside captures again.
  void leave(const StreamKey& stream);
  /// Removes an operation that was refused.
  void withdraw(const Operation& operation);
  /// Follows captures, clones, instantiations, updates and conditional nodes. Call this in `after`.
  void follow(const Operation& operation);
  /// Returns the nodes of the graph that the operation launches, or null.
  const std::vector<Node>* nodes_of(const Operation& operation) const { return graphs_.nodes_of(operation); }

 private:
  struct Lane {
    std::uint32_t number = 0;
    Clock clock;
  };
  struct OpenCapture {
    Values values;
    std::map<StreamKey, Lane> lanes;
    std::uint32_t last_lane = 0;
    std::vector<Access> freed;  // memory that the capture's nodes have freed
  };
  using Model = model::Graphs<Node, OpenCapture>;
  using Capture = Model::Capture;

  static Lane& lane_of(Capture& capture, const StreamKey& stream);
  static void add_nodes(Node& node, const std::vector<Node>& nodes);
  Node* node_of(const Operation& operation);
  void check_freed(Capture& capture, OperationKind kind, const Access& access, const Clock& clock);
  void finish(Capture& capture);
  void report_races(const std::vector<Node>& nodes);
  void set_dependencies(const Operation& operation);
  void change_nodes(const Operation& operation);

  Report& report_;
  model::StepMaker& steps_;
  Memory& memory_;
  Events& events_;
  Model graphs_;
};

}  // namespace weir::race
