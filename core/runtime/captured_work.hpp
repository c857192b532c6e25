// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weir/graph.hpp"
#include "weir/plugin/operation.hpp"

namespace weir::detail {

/// A portable capture's record of its operations, for `Graph::save`. Shared by the capture's graph, its clones and its
/// executables. core/saved implements it.
class CapturedWork {
 public:
  /// Creates an empty record for a new capture. Defined in core/saved.
  static std::shared_ptr<CapturedWork> make();
  /// Null for a graph that is not portable.
  static std::shared_ptr<const CapturedWork> of(const Graph& graph) { return graph.captured_work_; }
  static std::shared_ptr<const CapturedWork> of(const GraphExec& exec);
  static void set(GraphExec& exec, const std::shared_ptr<const CapturedWork>& work);

  CapturedWork() = default;
  virtual ~CapturedWork() = default;
  CapturedWork& operator=(const CapturedWork&) = delete;

  /// For a capture that continues the graph; the existing record must not change.
  virtual std::shared_ptr<CapturedWork> copy() const = 0;
  /// Adds an operation captured after the nodes `after`. Any number of threads.
  virtual void record(const Operation& operation, const std::vector<GraphNode>& after,
                      std::vector<std::shared_ptr<const CapturedWork>> bodies) = 0;
  /// Matches operations to nodes, once all nodes exist, and determines whether there are other nodes.
  virtual void settle(const Topology& topology) = 0;

 protected:
  CapturedWork(const CapturedWork&) = default;
};

}  // namespace weir::detail
