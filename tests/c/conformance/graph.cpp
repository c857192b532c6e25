// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "tests/c/conformance/through_c.hpp"

// Captures and graphs over the C interface.
namespace weir {

using namespace through_c;

// --- Captures -----------------------------------------------------------------------------------------------------------

void Stream::begin_capture(const CaptureOptions& options) {
  need(options.external ? weir_stream_join_capture(handle(this))
                        : weir_stream_begin_capture(handle(this), static_cast<weir_capture_mode>(options.mode)));
}
GraphPtr Stream::end_capture() {
  return made<Graph, weir_graph>([&](auto** g) { return weir_stream_end_capture(handle(this), g); });
}
void Stream::discard_capture() { need(weir_stream_discard_capture(handle(this))); }
CaptureStatus Stream::capture_status() const {
  return static_cast<CaptureStatus>(told<weir_capture_status>(
      [&](auto* status) { return weir_stream_capture_info(handle(this), status, nullptr, nullptr); }));
}
CaptureInfo Stream::capture_info() const {
  CaptureInfo info;
  weir_capture_status status = WEIR_CAPTURE_NONE;
  info.graph =
      made<Graph, weir_graph>([&](auto** g) { return weir_stream_capture_info(handle(this), &status, &info.id, g); });
  info.status = static_cast<CaptureStatus>(status);
  return info;
}
void Stream::resume_capture(Ref<Graph> graph, CaptureMode mode) {
  need(weir_stream_resume_capture(handle(this), handle(graph.get()), static_cast<weir_capture_mode>(mode)));
}
void Stream::add_child_graph(GraphRef graph) { need(weir_stream_add_child_graph(handle(this), handle(graph.get()))); }

namespace {

using Body = UniqueFunction<void(Stream&)>;

/// A body in C++ for C: its exception waits until the call has returned.
struct BodyCall {
  Body body;
  std::exception_ptr thrown;

  static weir_result call(weir_stream* stream, void* data) {
    auto& self = *static_cast<BodyCall*>(data);
    try {
      self.body(*reinterpret_cast<Stream*>(stream));
      return WEIR_SUCCESS;
    } catch (...) {
      self.thrown = std::current_exception();
      return WEIR_ERROR_UNKNOWN;
    }
  }
};

template <class F>
void conditional(F function, Stream* stream, const std::uint32_t* condition, Body&& body) {
  BodyCall data{std::move(body), nullptr};
  const weir_result result = function(handle(stream), condition, data.body ? BodyCall::call : nullptr, &data);
  if (data.thrown) std::rethrow_exception(data.thrown);
  need(result);
}

}  // namespace

void Stream::capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  conditional(weir_stream_capture_if, this, condition, std::move(body));
}
void Stream::capture_while(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  conditional(weir_stream_capture_while, this, condition, std::move(body));
}

// --- Graphs -------------------------------------------------------------------------------------------------------------

std::size_t Graph::node_count() const {
  return told<std::size_t>([&](auto* count) { return weir_graph_get_nodes(handle(this), 0, nullptr, count); });
}
Topology Graph::topology() const {
  std::vector<weir_node_kind> kinds(node_count());
  std::size_t count = 0;
  need(weir_graph_get_nodes(handle(this), kinds.size(), kinds.data(), &count));
  std::vector<weir_graph_edge> edges(
      told<std::size_t>([&](auto* edge_count) { return weir_graph_get_edges(handle(this), 0, nullptr, edge_count); }));
  need(weir_graph_get_edges(handle(this), edges.size(), edges.data(), &count));
  Topology topology;
  for (const weir_node_kind kind : kinds) topology.nodes.push_back(static_cast<NodeKind>(kind));
  for (const weir_graph_edge& edge : edges) topology.edges.emplace_back(edge.from, edge.to);
  return topology;
}
std::string Graph::debug_dot() const {
  return text([&](char** t) { return weir_graph_debug_dot(handle(this), t); });
}
std::string Graph::describe() const {
  return text([&](char** t) { return weir_graph_describe(handle(this), t); });
}
GraphPtr Graph::clone() const {
  return made<Graph, weir_graph>([&](auto** g) { return weir_graph_clone(handle(this), g); });
}
GraphExecPtr Graph::instantiate(const InstantiateOptions& options) const {
  const std::uint32_t flags = options.auto_free_on_launch ? WEIR_INSTANTIATE_DEFAULT : WEIR_INSTANTIATE_NO_AUTO_FREE;
  return made<GraphExec, weir_graph_exec>([&](auto** e) { return weir_graph_instantiate(handle(this), flags, e); });
}
void GraphExec::launch(StreamRef stream) { need(weir_graph_exec_launch(handle(this), handle(stream.get()))); }
void GraphExec::upload(StreamRef stream) { need(weir_graph_exec_upload(handle(this), handle(stream.get()))); }
void GraphExec::update(GraphRef graph) { need(weir_graph_exec_update(handle(this), handle(graph.get()))); }
std::string GraphExec::describe() const {
  return text([&](char** t) { return weir_graph_exec_describe(handle(this), t); });
}

}  // namespace weir
