// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weir/graph.hpp"
#include "weir/plugin/operation.hpp"

/// `CapturedWork`: the recorded operations of a portable capture.
namespace weir::detail {

/// The recorded operations of a portable capture, for `Graph::save`. An interface, which core/saved implements, because
/// core/runtime must not include core/saved. The capture's graph, its clones and its executables share one object.
class CapturedWork {
 public:
  /// Creates an empty record for a new capture. Defined in core/saved.
  static std::shared_ptr<CapturedWork> make();
  /// The recorded operations of a graph or an executable; null if it is not portable.
  static std::shared_ptr<const CapturedWork> of(const Graph& graph) { return graph.captured_work_; }
  static std::shared_ptr<const CapturedWork> of(const GraphExec& exec);
  static void set(GraphExec& exec, const std::shared_ptr<const CapturedWork>& work);

  CapturedWork() = default;
  virtual ~CapturedWork() = default;
  CapturedWork& operator=(const CapturedWork&) = delete;

  /// Returns a copy for a capture that continues the graph, because clones and executables still use the original.
  virtual std::shared_ptr<CapturedWork> copy() const = 0;
  /// Adds an operation that depends on the nodes `after`. `bodies`: the recorded bodies of a conditional node. Called
  /// concurrently.
  virtual void record(const Operation& operation, const std::vector<GraphNode>& after,
                      std::vector<std::shared_ptr<const CapturedWork>> bodies) = 0;
  /// Called when the capture has ended: finds the node of each operation, and whether the graph has nodes that were not
  /// recorded.
  virtual void settle(const Topology& topology) = 0;

 protected:
  CapturedWork(const CapturedWork&) = default;
};

}  // namespace weir::detail
