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

/// Graphs built by hand.
namespace weir {

/// Builds a graph from nodes and edges, for shapes that no order of streams has:
///
///   GraphBuilder builder(*device);
///   const GraphNode a = builder.add({}, [&](Stream& s) { s.copy(x, input); });
///   const GraphNode b = builder.add({}, [&](Stream& s) { s.fill(y, 0); });
///   builder.add({a, b}, [&](Stream& s) { s.launch(kernel, grid, x, y); });
///   const GraphPtr graph = builder.finish();
///
/// It captures on its own stream, in relaxed mode. For use by one thread at a time.
class WEIR_API GraphBuilder {
 public:
  /// Throws like `Stream::begin_capture`. Only `portable` of `options` is used. Feature `graph_capture`.
  explicit GraphBuilder(Device& device, const CaptureOptions& options = {});
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept = default;
  GraphBuilder& operator=(GraphBuilder&&) = delete;

  /// Adds the work that `function(stream)` submits, after the nodes `after`, and returns its last node. `stream` must not be
  /// used later, and must not end the capture, which would destroy the graph. Throws `invalid_argument` for a node that does
  /// not exist, and if `function` submits nothing or finishes the graph.
  template <class F>
  GraphNode add(std::span<const GraphNode> after, F&& function) {
    const StreamPtr stream = begin_node(after);  // outlives the function, even if that destroys the builder
    std::forward<F>(function)(*stream);
    return end_node(after);
  }
  template <class F>
  GraphNode add(std::initializer_list<GraphNode> after, F&& function) {
    return add(std::span(after.begin(), after.size()), std::forward<F>(function));
  }
  /// Returns the graph. Afterwards the builder is empty and can only be destroyed. Throws `not_capturing` if a function of
  /// `add` ended the capture.
  GraphPtr finish();

 private:
  StreamPtr begin_node(std::span<const GraphNode> after);
  GraphNode end_node(std::span<const GraphNode> after) const;

  StreamPtr stream_;
};

}  // namespace weir
