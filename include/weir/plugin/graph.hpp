// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "weir/graph.hpp"
#include "weir/graph_changes.hpp"
#include "weir/plugin/capture.hpp"

/// The interface that a backend implements for its graphs and executable graphs.
namespace weir {

/// The base class of each backend's graphs; every `Graph` object is a `GraphImpl`. Several threads may call its functions at
/// the same time. Nodes are numbered in the order of their capture, from 0. Default implementations throw
/// `unsupported`. The destructor may run while executables of the graph exist.
class WEIR_API GraphImpl : public Graph {
 public:
  /// The number of nodes; a child graph or a conditional node counts as one. (cudaGraphGetNodes)
  virtual std::size_t do_node_count() const = 0;
  /// The kinds of the nodes, and the edges between them. (cudaGraphGetNodes, cudaGraphGetEdges)
  virtual Topology do_topology() const = 0;
  /// The graph in Graphviz's DOT language. Feature `graph_debug_dot`. (cudaGraphDebugDotPrint)
  virtual std::string do_debug_dot() const;
  /// Returns an independent copy, whose nodes have the same numbers and which shares the host functions. The graph allocates
  /// no memory, and no capture continues it. Feature `graph_clone`. (cudaGraphClone)
  virtual GraphPtr do_clone() const;
  /// Makes an executable, which must not need this graph. No capture continues the graph. Throws `unsupported` for a graph
  /// that allocates memory and has an executable (`support::throw_second_owner_of_memory`). (cudaGraphInstantiate)
  virtual GraphExecPtr do_instantiate(const InstantiateOptions& options) const = 0;

 protected:
  /// `handle`: the vendor's graph, which this object owns.
  GraphImpl(Device& device, void* handle) noexcept : Graph(device, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

/// The base class of each backend's executable graphs; every `GraphExec` object is a `GraphExecImpl`. Several threads may
/// launch an executable at the same time, also while one thread updates it or changes its nodes. Its runs must follow one
/// another. The destructor may run while a launch is pending, which must still be done. Default implementations throw
/// `unsupported`.
class WEIR_API GraphExecImpl : public GraphExec {
 public:
  /// Enqueues a launch of the graph on `stream`, a stream of this device. If `capture` is active, must add the graph as a
  /// child node to the captured graph instead; then `do_apply` has changed no node since the last update. Throws
  /// `unsupported` for a capture of a graph that allocates memory. (cudaGraphLaunch)
  virtual void do_launch(Stream& stream, const CaptureState& capture) = 0;
  /// Prepares the first launch, in the order of `stream`, a stream of this device. Never called during a capture of the
  /// stream. Feature `graph_upload`. (cudaGraphUpload)
  virtual void do_upload(Stream& stream);
  /// Replaces the parameters of all nodes by those of `graph`, a graph of this device that no capture continues, and enables
  /// all nodes. Running launches keep theirs. Throws `graph_update_failed`, with the difference, and changes nothing if the
  /// graphs differ in shape or one allocates memory. Feature `graph_update`. (cudaGraphExecUpdate)
  virtual void do_update(const Graph& graph);
  /// Changes nodes for later launches; running launches keep theirs. `changes`: at least one; the addresses and arguments in
  /// it are valid only during the call. The core has checked the arguments of each change, but not whether the node exists
  /// and has the right kind. If one change does not fit its node, the function must throw `graph_update_failed`
  /// (`support::fits`, `support::throw_impossible_change`) and change nothing. After another error the earlier changes may
  /// be in effect. Feature `graph_node_changes`. (cuGraphExecKernelNodeSetParams, cuGraphNodeSetEnabled)
  virtual void do_apply(const GraphChanges& changes);

 protected:
  /// `handle`: the vendor's executable, which this object owns.
  GraphExecImpl(Device& device, void* handle) noexcept : GraphExec(device, handle) {}
  /// Replaces the vendor's executable, for an update that makes a new one.
  void set_native_handle(void* handle) noexcept { handle_ = handle; }
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
