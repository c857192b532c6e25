// SPDX-License-Identifier: Apache-2.0
#include "weir/portable_graph.hpp"

#include "bindings/c/call.hpp"
#include "weir/device.hpp"
#include "weir/stream.hpp"

// The C interface: graphs in files (weir/c/portable_graph.h).
namespace weir::c {
namespace {

static_assert(static_cast<unsigned>(MemoryRole::contents) == WEIR_ROLE_CONTENTS);

std::vector<NamedMemory> named(const weir_named_memory* memory, std::size_t count) {
  elements(memory, count, "memory");
  std::vector<NamedMemory> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace_back(text(memory[i].name, "memory->name"), memory[i].data, memory[i].bytes,
                     enumerator(memory[i].kind, MemoryKind::managed, "memory->kind"),
                     enumerator(memory[i].role, MemoryRole::contents, "memory->role"));
  }
  return all;
}

template <class T>
const T& element(const std::vector<T>& all, std::size_t index) {
  if (index >= all.size())
    throw_invalid("index is " + std::to_string(index) + ", and there are " + std::to_string(all.size()));
  return all[index];
}

}  // namespace
}  // namespace weir::c

using namespace weir::c;

weir_result weir_stream_begin_portable_capture(weir_stream* stream, weir_capture_mode mode) {
  return call(__func__, [&] {
    const auto wanted = enumerator(mode, weir::CaptureMode::relaxed, "mode");
    required(stream, "stream").begin_capture({.mode = wanted, .portable = true});
  });
}

weir_result weir_graph_save(const weir_graph* graph, const char* file, const weir_named_memory* memory, size_t count) {
  return call(__func__, [&] { required(graph, "graph").save(text(file, "file"), named(memory, count)); });
}

weir_result weir_graph_save_bytes(const weir_graph* graph, const weir_named_memory* memory, size_t count, void** bytes,
                                  size_t* size) {
  return give(__func__, bytes, "bytes", [&] {
    auto& result_size = output(size, "size");
    const std::vector<std::byte> saved = required(graph, "graph").saved(named(memory, count));
    void* const copy = new_bytes(saved.data(), saved.size());
    result_size = saved.size();
    return copy;
  });
}

weir_result weir_device_load_graph(weir_device* device, const char* file, weir_portable_graph** graph) {
  return give(__func__, graph, "graph",
              [&] { return handle(required(device, "device").load_graph(std::string(text(file, "file")))); });
}

weir_result weir_device_load_graph_bytes(weir_device* device, const void* bytes, size_t size, weir_portable_graph** graph) {
  return give(__func__, graph, "graph", [&] {
    const auto* const first = elements(static_cast<const std::byte*>(bytes), size, "bytes");
    return handle(required(device, "device").load_graph(std::span(first, size)));
  });
}

weir_portable_graph* weir_portable_graph_retain(weir_portable_graph* graph) { return retain(graph); }
void weir_portable_graph_release(weir_portable_graph* graph) { release(graph); }

weir_device* weir_portable_graph_device(const weir_portable_graph* graph) { return device_of(graph); }

const char* weir_portable_graph_captured_on(const weir_portable_graph* graph) {
  return graph != nullptr ? object(graph)->captured_on().c_str() : nullptr;
}

weir_result weir_portable_graph_describe(const weir_portable_graph* graph, char** text) {
  return give(__func__, text, "text", [&] { return new_text(required(graph, "graph").describe()); });
}

weir_result weir_portable_graph_memory_count(const weir_portable_graph* graph, size_t* count) {
  return give(__func__, count, "count", [&] { return required(graph, "graph").memory().size(); });
}

weir_result weir_portable_graph_get_memory(const weir_portable_graph* graph, size_t index, weir_portable_memory* memory,
                                           char** name) {
  return call(__func__, [&] {
    const auto known = required(graph, "graph").memory();
    const weir::PortableMemory& found = element(known, index);
    if (memory != nullptr) {
      Output result(memory, "memory");
      weir_portable_memory all{};
      all.bytes = found.bytes;
      all.alignment = found.alignment;
      all.kind = static_cast<weir_memory_kind>(found.kind);
      all.role = static_cast<weir_memory_role>(found.role);
      all.data = found.data;
      if (name != nullptr) *name = new_text(found.name);
      result = all;
    } else if (name != nullptr) {
      *name = new_text(found.name);
    }
  });
}

weir_result weir_portable_graph_host_function_count(const weir_portable_graph* graph, size_t* count) {
  return give(__func__, count, "count", [&] { return required(graph, "graph").host_functions().size(); });
}

weir_result weir_portable_graph_get_host_function(const weir_portable_graph* graph, size_t index, char** name) {
  return give(__func__, name, "name", [&] { return new_text(element(required(graph, "graph").host_functions(), index)); });
}

weir_result weir_portable_graph_bind_memory(weir_portable_graph* graph, const char* name, void* data, size_t bytes) {
  return call(__func__, [&] {
    required(graph, "graph").bind(text(name, "name"), weir::Span<std::byte>(static_cast<std::byte*>(data), bytes));
  });
}

weir_result weir_portable_graph_bind_host_function(weir_portable_graph* graph, const char* name,
                                                   void (*function)(void* user_data), void (*destroy)(void* user_data),
                                                   void* user_data) {
  UserData data(destroy, user_data);
  return call(__func__, [&] {
    weir::PortableGraph& target = required(graph, "graph");
    if (function == nullptr) throw_null("function");
    target.bind(text(name, "name"), [function, data = std::move(data)] { function(data.get()); });
  });
}

weir_result weir_portable_graph_build(weir_portable_graph* graph, weir_graph** built) {
  return give(__func__, built, "built", [&] { return handle(required(graph, "graph").build()); });
}
