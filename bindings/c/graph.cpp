// SPDX-License-Identifier: Apache-2.0
#include "weir/graph.hpp"

#include "bindings/c/convert.hpp"
#include "weir/graph_changes.hpp"
#include "weir/stream.hpp"

// The C interface: captures and graphs (weir/c/graph.h).
namespace weir::c {
namespace {

static_assert(static_cast<unsigned>(CaptureMode::relaxed) == WEIR_CAPTURE_RELAXED);
static_assert(static_cast<unsigned>(CaptureStatus::invalidated) == WEIR_CAPTURE_INVALIDATED);
static_assert(static_cast<unsigned>(NodeKind::other) == WEIR_NODE_OTHER);

CaptureMode mode_of(weir_capture_mode mode) { return enumerator(mode, CaptureMode::relaxed, "mode"); }

UniqueFunction<void(Stream&)> body_of(weir_result (*body)(weir_stream*, void*), void* user_data) {
  if (body == nullptr) throw_null("body");
  return [=](Stream& stream) {
    const std::uint64_t before = failures();
    const weir_result result = body(handle(&stream), user_data);
    if (result != WEIR_SUCCESS) throw CallbackFailed{result, before};
  };
}

void add(GraphChanges& changes, const weir_node_change& change) {
  const GraphNode node{change.node};
  switch (change.kind) {
    case WEIR_CHANGE_KERNEL: {
      const Kernel& kernel = required(change.kernel, "a change's kernel");
      elements(change.arguments, change.argument_count, "a change's arguments");
      const std::span arguments(change.arguments, change.argument_count);
      return changes.launch_raw(node, kernel, launch_config(change.config), arguments,
                                parameters_of(kernel, change.sizes, nullptr, change.argument_count));
    }
    case WEIR_CHANGE_COPY:
      return changes.copy(node, Span(static_cast<std::byte*>(change.destination), change.count),
                          Span(static_cast<const std::byte*>(change.source), change.count));
    case WEIR_CHANGE_FILL: {
      const auto fill = [&]<class T>(T) {
        changes.fill(node, Span(static_cast<T*>(change.destination), change.count), static_cast<T>(change.value));
      };
      if (change.element_size == 1) return fill(std::uint8_t{});
      if (change.element_size == 2) return fill(std::uint16_t{});
      if (change.element_size == 4) return fill(std::uint32_t{});
      throw_invalid("a node fills elements of 1, 2 or 4 bytes, and not of " + std::to_string(change.element_size));
    }
    case WEIR_CHANGE_ENABLE: return changes.enable(node);
    case WEIR_CHANGE_DISABLE: return changes.disable(node);
  }
  throw_unknown_enumerator("a change's kind", static_cast<unsigned>(change.kind));
}

}  // namespace
}  // namespace weir::c

using namespace weir::c;

// --- Captures -----------------------------------------------------------------------------------------------------------

weir_result weir_stream_begin_capture(weir_stream* stream, weir_capture_mode mode) {
  return call(__func__, [&] { required(stream, "stream").begin_capture(mode_of(mode)); });
}

weir_result weir_stream_end_capture(weir_stream* stream, weir_graph** graph) {
  return give(__func__, graph, "graph", [&] { return handle(required(stream, "stream").end_capture()); });
}

weir_result weir_stream_discard_capture(weir_stream* stream) {
  return call(__func__, [&] { required(stream, "stream").discard_capture(); });
}

weir_result weir_stream_capture_info(const weir_stream* stream, weir_capture_status* status, uint64_t* id,
                                     weir_graph** graph) {
  return call(__func__, [&] {
    auto& result = output(status, "status");
    const weir::Stream& asked = required(stream, "stream");
    if (id == nullptr && graph == nullptr) {
      result = static_cast<weir_capture_status>(asked.capture_status());
      return;
    }
    weir::CaptureInfo info = asked.capture_info();
    result = static_cast<weir_capture_status>(info.status);
    if (id != nullptr) *id = info.id;
    if (graph != nullptr) *graph = handle(std::move(info.graph));
  });
}

weir_result weir_stream_resume_capture(weir_stream* stream, weir_graph* graph, weir_capture_mode mode) {
  return call(__func__, [&] { required(stream, "stream").resume_capture(required(graph, "graph"), mode_of(mode)); });
}

weir_result weir_stream_add_child_graph(weir_stream* stream, const weir_graph* graph) {
  return call(__func__, [&] { required(stream, "stream").add_child_graph(required(graph, "graph")); });
}

weir_result weir_stream_capture_if(weir_stream* stream, const uint32_t* condition,
                                   weir_result (*body)(weir_stream* stream, void* user_data), void* user_data) {
  return call(__func__, [&] { required(stream, "stream").capture_if(condition, body_of(body, user_data)); });
}

weir_result weir_stream_capture_while(weir_stream* stream, const uint32_t* condition,
                                      weir_result (*body)(weir_stream* stream, void* user_data), void* user_data) {
  return call(__func__, [&] { required(stream, "stream").capture_while(condition, body_of(body, user_data)); });
}

weir_result weir_stream_capture_if_else(weir_stream* stream, const uint32_t* condition,
                                        weir_result (*body)(weir_stream* stream, void* user_data),
                                        weir_result (*otherwise)(weir_stream* stream, void* user_data), void* user_data) {
  return call(__func__, [&] {
    if (otherwise == nullptr) throw_null("otherwise");
    required(stream, "stream").capture_if(condition, body_of(body, user_data), body_of(otherwise, user_data));
  });
}

weir_result weir_stream_capture_switch(weir_stream* stream, const uint32_t* condition, size_t count,
                                       weir_result (*body)(weir_stream* stream, size_t number, void* user_data),
                                       void* user_data) {
  return call(__func__, [&] {
    if (body == nullptr) throw_null("body");
    std::vector<weir::UniqueFunction<void(weir::Stream&)>> bodies;
    for (std::size_t number = 0; number < count; ++number) {
      bodies.emplace_back([=](weir::Stream& captured) {
        const std::uint64_t before = failures();
        const weir_result result = body(handle(&captured), number, user_data);
        if (result != WEIR_SUCCESS) throw CallbackFailed{result, before};
      });
    }
    required(stream, "stream").capture_switch(condition, bodies);
  });
}

weir_result weir_stream_last_captured_node(const weir_stream* stream, uint32_t* node) {
  return give(__func__, node, "node", [&] { return required(stream, "stream").last_captured_node().index; });
}

weir_result weir_stream_set_capture_dependencies(weir_stream* stream, const uint32_t* nodes, size_t count) {
  return call(__func__, [&] {
    elements(nodes, count, "nodes");
    std::vector<weir::GraphNode> behind;
    for (std::size_t i = 0; i < count; ++i) behind.push_back({nodes[i]});
    required(stream, "stream").set_capture_dependencies(behind);
  });
}

// --- Graphs -------------------------------------------------------------------------------------------------------------

weir_graph* weir_graph_retain(weir_graph* graph) { return retain(graph); }
void weir_graph_release(weir_graph* graph) { release(graph); }

weir_device* weir_graph_device(const weir_graph* graph) { return device_of(graph); }

void* weir_graph_native_handle(const weir_graph* graph) { return native_handle_of(graph); }

weir_result weir_graph_describe(const weir_graph* graph, char** text) {
  return give(__func__, text, "text", [&] { return new_text(required(graph, "graph").describe()); });
}

weir_result weir_graph_get_nodes(const weir_graph* graph, size_t capacity, weir_node_kind* kinds, size_t* count) {
  return give(__func__, count, "count", [&] {
    elements(kinds, capacity, "kinds");
    const auto nodes = required(graph, "graph").topology().nodes;
    for (std::size_t i = 0; i < std::min(capacity, nodes.size()); ++i) kinds[i] = static_cast<weir_node_kind>(nodes[i]);
    return nodes.size();
  });
}

weir_result weir_graph_get_edges(const weir_graph* graph, size_t capacity, weir_graph_edge* edges, size_t* count) {
  return give(__func__, count, "count", [&] {
    elements(edges, capacity, "edges");
    const auto all = required(graph, "graph").topology().edges;
    for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i) edges[i] = {all[i].first, all[i].second};
    return all.size();
  });
}

weir_result weir_graph_debug_dot(const weir_graph* graph, char** text) {
  return give(__func__, text, "text", [&] { return new_text(required(graph, "graph").debug_dot()); });
}

weir_result weir_graph_clone(const weir_graph* graph, weir_graph** clone) {
  return give(__func__, clone, "clone", [&] { return handle(required(graph, "graph").clone()); });
}

// --- Executable graphs --------------------------------------------------------------------------------------------------

weir_result weir_graph_instantiate(const weir_graph* graph, uint32_t flags, weir_graph_exec** exec) {
  return give(__func__, exec, "exec", [&] {
    check_flags(flags, WEIR_INSTANTIATE_NO_AUTO_FREE, "flags");
    const bool auto_free = (flags & WEIR_INSTANTIATE_NO_AUTO_FREE) == 0;
    return handle(required(graph, "graph").instantiate({.auto_free_on_launch = auto_free}));
  });
}

weir_graph_exec* weir_graph_exec_retain(weir_graph_exec* exec) { return retain(exec); }
void weir_graph_exec_release(weir_graph_exec* exec) { release(exec); }

weir_device* weir_graph_exec_device(const weir_graph_exec* exec) { return device_of(exec); }

void* weir_graph_exec_native_handle(const weir_graph_exec* exec) { return native_handle_of(exec); }

weir_result weir_graph_exec_describe(const weir_graph_exec* exec, char** text) {
  return give(__func__, text, "text", [&] { return new_text(required(exec, "exec").describe()); });
}

weir_result weir_graph_exec_launch(weir_graph_exec* exec, weir_stream* stream) {
  return call(__func__, [&] { required(exec, "exec").launch(required(stream, "stream")); });
}

weir_result weir_graph_exec_upload(weir_graph_exec* exec, weir_stream* stream) {
  return call(__func__, [&] { required(exec, "exec").upload(required(stream, "stream")); });
}

weir_result weir_graph_exec_update(weir_graph_exec* exec, const weir_graph* graph) {
  return call(__func__, [&] { required(exec, "exec").update(required(graph, "graph")); });
}

weir_result weir_graph_exec_apply(weir_graph_exec* exec, const weir_node_change* changes, size_t count) {
  return call(__func__, [&] {
    elements(changes, count, "changes");
    weir::GraphExec& changed = required(exec, "exec");
    weir::GraphChanges all;
    for (std::size_t i = 0; i < count; ++i) add(all, changes[i]);
    changed.apply(all);
  });
}
