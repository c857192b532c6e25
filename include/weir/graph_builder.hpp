// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "weir/capture.hpp"
#include "weir/export.hpp"
#include "weir/fwd.hpp"
#include "weir/graph.hpp"
#include "weir/ptr.hpp"
#include "weir/stream.hpp"

/// `GraphBuilder`: builds a graph from nodes and explicit edges, without events between streams.
namespace weir {

/// Builds a graph from nodes and explicit edges. Use it for graphs whose edges are hard to express by waits between streams:
///
///   GraphBuilder builder(*device);
///   const GraphNode a = builder.add({}, [&](Stream& s) { s.copy(x, input); });
///   const GraphNode b = builder.add({}, [&](Stream& s) { s.fill(y, 0); });
///   builder.add({a, b}, [&](Stream& s) { s.launch(kernel, grid, x, y); });
///   const GraphPtr graph = builder.finish();
///
/// A builder captures on a stream of its own, in relaxed mode. Only one thread at a time may use it.
class WEIR_API GraphBuilder {
 public:
  /// Begins the capture. Of `options`, only `portable` is used. Throws like `Stream::begin_capture`. Feature
  /// `graph_capture`.
  explicit GraphBuilder(Device& device, const CaptureOptions& options = {});
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept = default;
  GraphBuilder& operator=(GraphBuilder&&) = delete;

  /// Calls `function(stream)`, adds the work that it submits to `stream`, and returns the last node added. The work runs
  /// after the nodes in `after`. `function` must not keep `stream` or end its capture. Throws `invalid_argument` for a node
  /// that does not exist, and if `function` submits nothing or calls `finish`.
  template <class F>
  GraphNode add(std::span<const GraphNode> after, F&& function) {
    const StreamPtr stream = begin_node(after);  // an owner, because `function` may destroy the builder
    std::forward<F>(function)(*stream);
    return end_node(after);
  }
  template <class F>
  GraphNode add(std::initializer_list<GraphNode> after, F&& function) {
    return add(std::span(after.begin(), after.size()), std::forward<F>(function));
  }
  /// Ends the capture and returns the graph. Afterwards the builder is empty and can only be destroyed. Throws
  /// `not_capturing` if a function that was passed to `add` has ended the capture.
  GraphPtr finish();

 private:
  StreamPtr begin_node(std::span<const GraphNode> after);
  GraphNode end_node(std::span<const GraphNode> after) const;

  StreamPtr stream_;
};

}  // namespace weir
