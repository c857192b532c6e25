// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "weir/graph.hpp"
#include "weir/graph_changes.hpp"
#include "weir/plugin/capture.hpp"

namespace weir {

/// The base of a backend's graphs. Every `Graph` is one.
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

/// The base of a backend's executable graphs. Every `GraphExec` is one.
class WEIR_API GraphExecImpl : public GraphExec {
 public:
  /// `capture`: if `stream` is in a capture, this graph becomes a child node of it.
  virtual void do_launch(Stream& stream, const CaptureState& capture) = 0;
  virtual void do_upload(Stream& stream);
  virtual void do_update(const Graph& graph);
  /// The core has checked each change by itself, but not whether the node exists and has that kind. Must change nothing
  /// unless all changes fit.
  virtual void do_apply(const GraphChanges& changes);

 protected:
  GraphExecImpl(Device& device, void* handle) noexcept : GraphExec(device, handle) {}
  void set_native_handle(void* handle) noexcept { handle_ = handle; }
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
