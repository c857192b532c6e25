// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "weir/graph.hpp"
#include "weir/graph_changes.hpp"
#include "weir/plugin/capture.hpp"

/// The interface that a backend implements for its graphs and executable graphs.
namespace weir {

/// The base class of each backend's graphs; every `Graph` object is a `GraphImpl`.
class WEIR_API GraphImpl : public Graph {
 public:
  virtual std::size_t do_node_count() const = 0;
  virtual Topology do_topology() const = 0;
  virtual std::string do_debug_dot() const;
  virtual GraphPtr do_clone() const;
  virtual GraphExecPtr do_instantiate(const InstantiateOptions& options) const = 0;

 protected:
  GraphImpl(Device& device, void* handle) noexcept : Graph(device, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

/// The base class of each backend's executable graphs; every `GraphExec` object is a `GraphExecImpl`.
class WEIR_API GraphExecImpl : public GraphExec {
 public:
  /// Enqueues a launch of the graph on `stream`. If `capture` is active, must add the graph as a child node to the captured
  /// graph instead.
  virtual void do_launch(Stream& stream, const CaptureState& capture) = 0;
  virtual void do_upload(Stream& stream);
  virtual void do_update(const Graph& graph);
  /// The core has checked the arguments of each change, but not whether the node exists and has the right kind. If one
  /// change does not fit its node, the function must throw and change nothing.
  virtual void do_apply(const GraphChanges& changes);

 protected:
  GraphExecImpl(Device& device, void* handle) noexcept : GraphExec(device, handle) {}
  void set_native_handle(void* handle) noexcept { handle_ = handle; }
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
