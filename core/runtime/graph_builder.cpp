// SPDX-License-Identifier: Apache-2.0
#include "weir/graph_builder.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/runtime/stream_core.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"

// The functions of `GraphBuilder`.
namespace weir {

GraphBuilder::GraphBuilder(Device& device, const CaptureOptions& options) : stream_(device.create_stream()) {
  stream_->begin_capture({.mode = CaptureMode::relaxed, .portable = options.portable});
}

GraphBuilder::~GraphBuilder() {
  if (stream_) detail::StreamCore::drop_own_capture(*stream_);
}

StreamPtr GraphBuilder::begin_node(std::span<const GraphNode> after) {
  if (!stream_) throw Error(Errc::invalid_argument, "GraphBuilder::add", "", "the graph is finished; create a new builder");
  stream_->set_capture_dependencies(after);
  return stream_;
}

GraphNode GraphBuilder::end_node(std::span<const GraphNode> after) const {
  if (!stream_) {
    throw Error(Errc::invalid_argument, "GraphBuilder::add", "",
                "the function has called `finish`, so there is no new node; call `finish` after `add`");
  }
  const GraphNode node = stream_->last_captured_node();
  if (std::find(after.begin(), after.end(), node) != after.end())
    throw Error(Errc::invalid_argument, "GraphBuilder::add", "", "the function submitted nothing, so there is no new node");
  return node;
}

GraphPtr GraphBuilder::finish() {
  if (!stream_) throw Error(Errc::invalid_argument, "GraphBuilder::finish", "", "the graph is already finished");
  const CaptureInfo capture = stream_->capture_info();
  if (capture.status == CaptureStatus::none) {
    throw Error(Errc::not_capturing, "GraphBuilder::finish", stream_->describe(),
                "a function passed to GraphBuilder::add ended the capture, so the graph is lost; such functions may only "
                "submit work");
  }
  // The capture was invalidated: `end_capture` throws that error.
  if (!capture.graph) return std::exchange(stream_, nullptr)->end_capture();
  // Make the stream depend on all leaves, because some HIP releases throw `capture_unjoined` for other leaves.
  std::vector<GraphNode> leaves;
  for (const std::uint32_t node : capture.graph->topology().leaves()) leaves.push_back({node});
  stream_->set_capture_dependencies(leaves);
  return std::exchange(stream_, nullptr)->end_capture();
}

}  // namespace weir
