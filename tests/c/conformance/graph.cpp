// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <list>
#include <span>
#include <vector>

#include "tests/c/conformance/through_c.hpp"

// Captures and graphs over the C interface.
namespace weir {

using namespace through_c;

// --- Captures -----------------------------------------------------------------------------------------------------------

void Stream::begin_capture(const CaptureOptions& options) {
  call(options.portable ? weir_stream_begin_portable_capture : weir_stream_begin_capture, this, options.mode);
}
GraphPtr Stream::end_capture() { return made<Graph>(weir_stream_end_capture, this); }
void Stream::discard_capture() { call(weir_stream_discard_capture, this); }
CaptureStatus Stream::capture_status() const {
  weir_capture_status status = WEIR_CAPTURE_NONE;
  call(weir_stream_capture_info, this, &status, nullptr, nullptr);
  return static_cast<CaptureStatus>(status);
}
CaptureInfo Stream::capture_info() const {
  CaptureInfo info;
  weir_capture_status status = WEIR_CAPTURE_NONE;
  info.graph = made<Graph>(weir_stream_capture_info, this, &status, &info.id);
  info.status = static_cast<CaptureStatus>(status);
  return info;
}
void Stream::resume_capture(Ref<Graph> graph, CaptureMode mode) { call(weir_stream_resume_capture, this, graph, mode); }
void Stream::add_child_graph(GraphRef graph) { call(weir_stream_add_child_graph, this, graph); }

namespace {

using Body = UniqueFunction<void(Stream&)>;

/// Bodies in C++ for C: an exception of one waits until the call has returned.
struct BodiesCall {
  std::span<Body> bodies;
  std::exception_ptr thrown;

  static weir_result call(weir_stream* stream, std::size_t number, void* data) {
    auto& self = *static_cast<BodiesCall*>(data);
    try {
      self.bodies[number](*reinterpret_cast<Stream*>(stream));
      return WEIR_SUCCESS;
    } catch (...) {
      self.thrown = std::current_exception();
      return WEIR_ERROR_UNKNOWN;
    }
  }
  template <std::size_t number>
  static weir_result call_one(weir_stream* stream, void* data) {
    return call(stream, number, data);
  }
  /// What C gets for a body: null for an empty one.
  template <std::size_t number>
  auto function() const {
    return bodies[number] ? call_one<number> : nullptr;
  }
  /// Throws what a body threw, or what the call says.
  void end(weir_result result) const {
    if (thrown) std::rethrow_exception(thrown);
    need(result);
  }
};

}  // namespace

void Stream::capture_if(const std::uint32_t* condition, Body body) {
  BodiesCall data{{&body, 1}, nullptr};
  data.end(weir_stream_capture_if(handle(this), condition, data.function<0>(), &data));
}
void Stream::capture_while(const std::uint32_t* condition, Body body) {
  BodiesCall data{{&body, 1}, nullptr};
  data.end(weir_stream_capture_while(handle(this), condition, data.function<0>(), &data));
}
void Stream::capture_if(const std::uint32_t* condition, Body body, Body otherwise) {
  Body bodies[] = {std::move(body), std::move(otherwise)};
  BodiesCall data{bodies, nullptr};
  data.end(weir_stream_capture_if_else(handle(this), condition, data.function<0>(), data.function<1>(), &data));
}
void Stream::capture_switch(const std::uint32_t* condition, std::span<Body> bodies) {
  BodiesCall data{bodies, nullptr};
  const bool all = std::ranges::all_of(bodies, [](const Body& body) { return static_cast<bool>(body); });
  data.end(weir_stream_capture_switch(handle(this), condition, bodies.size(), all ? BodiesCall::call : nullptr, &data));
}

// --- Nodes --------------------------------------------------------------------------------------------------------------

GraphNode Stream::last_captured_node() const { return {told<std::uint32_t>(weir_stream_last_captured_node, this)}; }
void Stream::set_capture_dependencies(std::span<const GraphNode> nodes) {
  std::vector<std::uint32_t> numbers;
  for (const GraphNode node : nodes) numbers.push_back(node.index);
  call(weir_stream_set_capture_dependencies, this, numbers.data(), numbers.size());
}

// --- Graphs -------------------------------------------------------------------------------------------------------------

std::size_t Graph::node_count() const { return told<std::size_t>(weir_graph_get_nodes, this, 0, nullptr); }
Topology Graph::topology() const {
  std::vector<weir_node_kind> kinds(node_count());
  std::size_t count = 0;
  call(weir_graph_get_nodes, this, kinds.size(), kinds.data(), &count);
  std::vector<weir_graph_edge> edges(told<std::size_t>(weir_graph_get_edges, this, 0, nullptr));
  call(weir_graph_get_edges, this, edges.size(), edges.data(), &count);
  Topology topology;
  for (const weir_node_kind kind : kinds) topology.nodes.push_back(static_cast<NodeKind>(kind));
  for (const weir_graph_edge& edge : edges) topology.edges.emplace_back(edge.from, edge.to);
  return topology;
}
std::string Graph::debug_dot() const { return text(weir_graph_debug_dot, this); }
std::string Graph::describe() const { return text(weir_graph_describe, this); }
GraphPtr Graph::clone() const { return made<Graph>(weir_graph_clone, this); }
GraphExecPtr Graph::instantiate(const InstantiateOptions& options) const {
  const std::uint32_t flags = options.auto_free_on_launch ? WEIR_INSTANTIATE_DEFAULT : WEIR_INSTANTIATE_NO_AUTO_FREE;
  return made<GraphExec>(weir_graph_instantiate, this, flags);
}
void GraphExec::launch(StreamRef stream) { call(weir_graph_exec_launch, this, stream); }
void GraphExec::upload(StreamRef stream) { call(weir_graph_exec_upload, this, stream); }
void GraphExec::update(GraphRef graph) { call(weir_graph_exec_update, this, graph); }
void GraphExec::apply(const GraphChanges& changes) {
  std::vector<weir_node_change> all;
  std::list<weir_launch_config> configs;
  std::list<std::vector<void*>> arguments;
  std::list<std::vector<std::size_t>> sizes;
  for (const NodeChange& change : changes.changes()) {
    weir_node_change& one = all.emplace_back();
    one.kind = static_cast<weir_node_change_kind>(change.kind);
    one.node = change.node.index;
    one.destination = change.destination;
    one.source = change.source;
    one.count = change.count;
    one.element_size = change.element_size;
    one.value = change.value;
    if (change.kind != NodeChange::Kind::kernel) continue;
    one.kernel = handle(change.kernel);
    one.config = &configs.emplace_back(shape_of(change.config));
    one.sizes = sizes.emplace_back(sizes_of(change.parameters)).data();
    one.argument_count = change.parameters.size();
    void** const addresses = changes.arguments_of(change);
    one.arguments = arguments.emplace_back(addresses, addresses + one.argument_count).data();
  }
  call(weir_graph_exec_apply, this, all.data(), all.size());
}
std::string GraphExec::describe() const { return text(weir_graph_exec_describe, this); }

// --- Graphs in files ----------------------------------------------------------------------------------------------------

namespace {

std::vector<weir_named_memory> named(std::span<const NamedMemory> memory) {
  std::vector<weir_named_memory> all;
  for (const NamedMemory& one : memory) {
    all.push_back({one.name().c_str(), one.data(), one.size_bytes(), static_cast<weir_memory_kind>(one.kind()),
                   static_cast<weir_memory_role>(one.role())});
  }
  return all;
}

}  // namespace

void Graph::save(const std::string& file, std::initializer_list<NamedMemory> memory) const {
  save(file, std::span(memory.begin(), memory.size()));
}
void Graph::save(const std::string& file, std::span<const NamedMemory> memory) const {
  const auto names = named(memory);
  call(weir_graph_save, this, file.c_str(), names.data(), names.size());
}
std::vector<std::byte> Graph::saved(std::span<const NamedMemory> memory) const {
  const auto names = named(memory);
  void* bytes = nullptr;
  std::size_t size = 0;
  call(weir_graph_save_bytes, this, names.data(), names.size(), &bytes, &size);
  const auto* const first = static_cast<const std::byte*>(bytes);
  std::vector<std::byte> copy(first, first + size);
  weir_free(bytes);
  return copy;
}
PortableGraphPtr Device::load_graph(const std::string& file) {
  return made<PortableGraph>(weir_device_load_graph, *this, file.c_str());
}
PortableGraphPtr Device::load_graph(std::span<const std::byte> bytes) {
  return made<PortableGraph>(weir_device_load_graph_bytes, *this, bytes.data(), bytes.size());
}
std::vector<PortableMemory> PortableGraph::memory() const {
  std::vector<PortableMemory> all(told<std::size_t>(weir_portable_graph_memory_count, this));
  for (std::size_t i = 0; i < all.size(); ++i) {
    weir_portable_memory one = sized<weir_portable_memory>();
    all[i].name = text(weir_portable_graph_get_memory, this, i, &one);
    all[i].bytes = one.bytes;
    all[i].alignment = one.alignment;
    all[i].kind = static_cast<MemoryKind>(one.kind);
    all[i].role = static_cast<MemoryRole>(one.role);
    all[i].data = one.data;
  }
  return all;
}
std::vector<std::string> PortableGraph::host_functions() const {
  std::vector<std::string> all(told<std::size_t>(weir_portable_graph_host_function_count, this));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = text(weir_portable_graph_get_host_function, this, i);
  return all;
}
void PortableGraph::bind_memory(std::string_view name, void* data, std::size_t bytes) {
  call(weir_portable_graph_bind_memory, this, std::string(name).c_str(), data, bytes);
}
void PortableGraph::bind_function(std::string_view name, HostFunction&& function) {
  const bool is_empty = !function;
  need(weir_portable_graph_bind_host_function(
      handle(this), std::string(name).c_str(),
      is_empty ? nullptr : +[](void* data) { (*static_cast<HostFunction*>(data))(); },
      [](void* data) { delete static_cast<HostFunction*>(data); }, new HostFunction(std::move(function))));
}
GraphPtr PortableGraph::build() { return made<Graph>(weir_portable_graph_build, this); }

}  // namespace weir
