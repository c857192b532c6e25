// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/c.h"
#include "weir/weir.hpp"

/// Implements C++ functions on the C interface, the opposite of libweir_c. Each function that the conformance suite calls is
/// defined again here, by the corresponding C function, so that the suite tests the interface that C programs use. Inline
/// functions in the headers, and the functions that docs/c.md lists, are not replaced.
namespace through_c {

/// The handle of an object: its address.
template <class Handle>
Handle* handle(const void* object) noexcept {
  return static_cast<Handle*>(const_cast<void*>(object));
}
inline weir_stream* handle(const weir::Stream& stream) noexcept { return handle<weir_stream>(&stream); }
inline weir_stream* handle(const weir::Stream* stream) noexcept { return handle<weir_stream>(stream); }
inline weir_device* handle(const weir::Device& device) noexcept { return handle<weir_device>(&device); }
inline weir_event* handle(const weir::Event* event) noexcept { return handle<weir_event>(event); }
inline weir_graph* handle(const weir::Graph* graph) noexcept { return handle<weir_graph>(graph); }
inline weir_graph_exec* handle(const weir::GraphExec* exec) noexcept { return handle<weir_graph_exec>(exec); }
inline weir_module* handle(const weir::Module* module) noexcept { return handle<weir_module>(module); }
inline weir_kernel* handle(const weir::Kernel* kernel) noexcept { return handle<weir_kernel>(kernel); }
inline weir_allocation* handle(const weir::Allocation* memory) noexcept { return handle<weir_allocation>(memory); }
inline weir_memory_pool* handle(const weir::MemoryPool* pool) noexcept { return handle<weir_memory_pool>(pool); }

/// Throws what a failed call says.
void need(weir_result result);
weir::Errc errc_of(weir_result result);

/// What a call makes: `made<weir::Stream, weir_stream>([&](auto** s) { return weir_stream_create(…, s); })`.
template <class Object, class Handle, class F>
weir::Ptr<Object> made(F&& call) {
  Handle* made = nullptr;
  need(call(&made));
  return weir::Ptr<Object>::attach(reinterpret_cast<Object*>(made));
}
/// A result of that type.
template <class T, class F>
T told(F&& call) {
  T result{};
  need(call(&result));
  return result;
}
/// A text that is freed.
template <class F>
std::string text(F&& call) {
  char* const characters = told<char*>(std::forward<F>(call));
  std::string copy(characters);
  weir_free(characters);
  return copy;
}

/// A structure with its size.
template <class S>
S sized() {
  S structure{};
  structure.struct_size = sizeof(S);
  return structure;
}

inline weir_launch_config shape_of(const weir::LaunchConfig& config) {
  auto c = sized<weir_launch_config>();
  c.grid = {config.grid.x, config.grid.y, config.grid.z};
  c.block = {config.block.x, config.block.y, config.block.z};
  c.shared_memory_bytes = config.shared_memory_bytes;
  c.cluster = {config.cluster.x, config.cluster.y, config.cluster.z};
  c.priority = config.priority.value_or(0);
  c.flags = (config.cooperative ? WEIR_LAUNCH_COOPERATIVE : 0U) | (config.priority ? WEIR_LAUNCH_PRIORITY : 0U) |
            (config.programmatic_stream_serialization ? WEIR_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION : 0U);
  return c;
}

inline std::vector<std::size_t> sizes_of(std::span<const weir::Parameter> parameters) {
  std::vector<std::size_t> sizes;
  for (const weir::Parameter& parameter : parameters) sizes.push_back(parameter.size);
  return sizes;
}

inline uint32_t flags_of(const weir::EventOptions& options) {
  return (options.timing ? WEIR_EVENT_TIMING : 0U) | (options.blocking_sync ? WEIR_EVENT_BLOCKING_SYNC : 0U) |
         (options.interprocess ? WEIR_EVENT_INTERPROCESS : 0U);
}

template <class Bytes>
weir::InterprocessHandle opened(const Bytes& bytes) {
  weir::InterprocessHandle handle;
  __builtin_memcpy(handle.bytes.data(), &bytes, sizeof(bytes));
  return handle;
}
inline weir_interprocess_handle closed(const weir::InterprocessHandle& handle) {
  weir_interprocess_handle bytes;
  __builtin_memcpy(&bytes, handle.bytes.data(), sizeof(bytes));
  return bytes;
}

}  // namespace through_c
