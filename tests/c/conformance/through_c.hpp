// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/c.h"
#include "weir/weir.hpp"

/// Implements C++ functions on the C interface, the opposite of libweir_c. Each function that the conformance suite calls is
/// defined again here, by the corresponding C function, so that the suite tests the interface that C programs use. Inline
/// functions in the headers, and the functions that docs/c.md lists, are not replaced.
namespace through_c {

/// The handle of each class, as the result of a function that is never called.
weir_allocation* handle_type(const weir::Allocation*);
weir_backend* handle_type(const weir::Backend*);
weir_device* handle_type(const weir::Device*);
weir_event* handle_type(const weir::Event*);
weir_graph* handle_type(const weir::Graph*);
weir_graph_exec* handle_type(const weir::GraphExec*);
weir_host_registration* handle_type(const weir::HostRegistration*);
weir_kernel* handle_type(const weir::Kernel*);
weir_memory_pool* handle_type(const weir::MemoryPool*);
weir_module* handle_type(const weir::Module*);
weir_portable_graph* handle_type(const weir::PortableGraph*);
weir_stream* handle_type(const weir::Stream*);

/// The handle of an object: its address.
template <class Object>
auto handle(const Object* object) noexcept -> decltype(handle_type(object)) {
  return reinterpret_cast<decltype(handle_type(object))>(const_cast<Object*>(object));
}

/// An enumerator, for the parameters of C's enumeration with the same numbers.
struct Number {
  int value;
  template <class E>
  requires std::is_enum_v<E>
  operator E() const noexcept {  // NOLINT(google-explicit-constructor)
    return static_cast<E>(value);
  }
};

/// An argument in C: a handle for an object, a pointer to one or a `Ref`; a number for an enumerator; or what it is.
template <class T>
auto in_c(const T& argument) noexcept {
  if constexpr (std::is_enum_v<T>) {
    return Number{static_cast<int>(argument)};
  } else if constexpr (requires { handle_type(&argument); }) {
    return handle(&argument);
  } else if constexpr (requires { handle(argument); }) {
    return handle(argument);
  } else if constexpr (requires { handle(argument.get()); }) {
    return handle(argument.get());
  } else {
    return argument;
  }
}

/// Throws what a failed call says.
void need(weir_result result);
weir::Errc errc_of(weir_result result);

/// Calls a function of C, with arguments of C++.
template <class... Parameters, class... Arguments>
void call(weir_result (*function)(Parameters...), const Arguments&... arguments) {
  need(function(in_c(arguments)...));
}
/// The same for a function whose last parameter is where a result of this type goes.
template <class Result, class... Parameters, class... Arguments>
Result told(weir_result (*function)(Parameters...), const Arguments&... arguments) {
  Result result{};
  need(function(in_c(arguments)..., &result));
  return result;
}
/// The same for a new object, or another reference to one.
template <class Object, class... Parameters, class... Arguments>
weir::Ptr<Object> made(weir_result (*function)(Parameters...), const Arguments&... arguments) {
  using Handle = decltype(handle_type(static_cast<Object*>(nullptr)));
  return weir::Ptr<Object>::attach(reinterpret_cast<Object*>(told<Handle>(function, arguments...)));
}
/// The same for a text that is freed.
template <class... Parameters, class... Arguments>
std::string text(weir_result (*function)(Parameters...), const Arguments&... arguments) {
  char* const characters = told<char*>(function, arguments...);
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
