// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "weir/c.h"
#include "weir/error.hpp"
#include "weir/fwd.hpp"
#include "weir/ptr.hpp"

/// The building blocks of the C functions: they convert handles to objects and exceptions to results.
namespace weir::c {

// --- Exceptions become results ------------------------------------------------------------------------------------------

/// Thrown for a mistake that the C interface finds itself.
struct Refused {
  Errc code;
  std::string why;
};
[[noreturn]] void throw_invalid(std::string why);
/// Thrown if a callback that may call Weir returned a failure.
struct CallbackFailed {
  weir_result result;
  std::uint64_t failures_before;
};
/// Returns how many calls of this thread have failed.
std::uint64_t failures() noexcept;

weir_result result_of(Errc code) noexcept;
weir_result result_of(const std::error_code& code) noexcept;
/// Makes the exception that is being handled the calling thread's last error.
weir_result failed(const char* function) noexcept;

/// Runs the body of a C function and converts exceptions to a result. `function`: the name of the C function.
template <class F>
weir_result call(const char* function, F&& body) noexcept {
  try {
    std::forward<F>(body)();
    return WEIR_SUCCESS;
  } catch (...) {
    return failed(function);
  }
}

// --- Handles ------------------------------------------------------------------------------------------------------------

/// The class of a handle's object. A handle is the address of its object.
template <class Handle>
struct Behind;
/// The handle of a class.
template <class Object>
struct Before;
#define WEIR_C_HANDLE(handle, object) \
  template <>                         \
  struct Behind<handle> {             \
    using type = object;              \
  };                                  \
  template <>                         \
  struct Before<object> {             \
    using type = handle;              \
  };
WEIR_C_HANDLE(weir_backend, Backend)
WEIR_C_HANDLE(weir_device, Device)
WEIR_C_HANDLE(weir_stream, Stream)
WEIR_C_HANDLE(weir_event, Event)
WEIR_C_HANDLE(weir_allocation, Allocation)
WEIR_C_HANDLE(weir_memory_pool, MemoryPool)
WEIR_C_HANDLE(weir_host_registration, HostRegistration)
WEIR_C_HANDLE(weir_module, Module)
WEIR_C_HANDLE(weir_kernel, Kernel)
WEIR_C_HANDLE(weir_graph, Graph)
WEIR_C_HANDLE(weir_graph_exec, GraphExec)
WEIR_C_HANDLE(weir_portable_graph, PortableGraph)
#undef WEIR_C_HANDLE

[[noreturn]] void throw_null(const char* name);

/// Returns the object of a handle; null for null.
template <class Handle>
auto* object(Handle* handle) noexcept {
  using Object = typename Behind<std::remove_const_t<Handle>>::type;
  return reinterpret_cast<std::conditional_t<std::is_const_v<Handle>, const Object, Object>*>(handle);
}
/// The same for a handle that must not be null. `name`: the parameter's name.
template <class Handle>
auto& required(Handle* handle, const char* name) {
  if (handle == nullptr) [[unlikely]]
    throw_null(name);
  return *object(handle);
}
/// The handle of an object.
template <class Object>
auto* handle(Object* object) noexcept {
  return reinterpret_cast<typename Before<std::remove_const_t<Object>>::type*>(
      const_cast<std::remove_const_t<Object>*>(object));
}
/// Passes ownership of an object to the caller.
template <class Object>
auto* handle(Ptr<Object>&& owner) noexcept {
  return handle(owner.detach());
}

template <class Handle>
Handle* retain(Handle* handle) noexcept {
  if (handle != nullptr) object(handle)->retain();
  return handle;
}
template <class Handle>
void release(Handle* handle) noexcept {
  if (handle != nullptr) object(handle)->release();
}

// --- Arguments ----------------------------------------------------------------------------------------------------------

/// Returns the place for a result. Throws if it is null; called before the function does anything.
template <class T>
T& output(T* pointer, const char* name) {
  if (pointer == nullptr) [[unlikely]]
    throw_null(name);
  return *pointer;
}
/// Returns the name, or "" for null.
inline const char* name_or_none(const char* characters) noexcept { return characters != nullptr ? characters : ""; }
/// Returns the text. Throws if it is null.
inline const char* text(const char* characters, const char* name) { return &output(characters, name); }
/// Returns a span of `count` elements. The pointer may be null only if `count` is 0.
template <class T>
T* elements(T* pointer, std::size_t count, const char* name) {
  if (pointer == nullptr && count != 0) throw_null(name);
  return pointer;
}

[[noreturn]] void throw_unknown_enumerator(const char* name, unsigned value);
/// Converts a C enumerator to the C++ one with the same number. Throws for a number greater than that of `last`.
template <class E, class C>
E enumerator(C value, E last, const char* name) {
  if (static_cast<unsigned>(value) > static_cast<unsigned>(last)) [[unlikely]]
    throw_unknown_enumerator(name, static_cast<unsigned>(value));
  return static_cast<E>(value);
}
/// Throws for a bit of `flags` that is not in `known`.
void check_flags(std::uint32_t flags, std::uint32_t known, const char* name);

/// The size of a structure in its first release. Structures that have grown since then have a specialization.
template <class S>
inline constexpr std::size_t first_size = sizeof(S);
template <>
inline constexpr std::size_t first_size<weir_launch_config> = offsetof(weir_launch_config, cluster);

void check_size(std::size_t size, std::size_t first, const char* name);
void check_rest(const void* given, std::size_t known, const char* name);

/// Returns the caller's options. Fields that the caller's release lacks are 0; fields that this library lacks must be 0.
template <class S>
S options(const S* given, const char* name) {
  S all{};
  if (given == nullptr) return all;
  check_size(given->struct_size, first_size<S>, name);
  if (given->struct_size > sizeof(S)) check_rest(given, sizeof(S), name);
  std::memcpy(&all, given, std::min(given->struct_size, sizeof(S)));
  return all;
}

/// The caller's structure for a result, of any release. The constructor checks it before the function does anything; `=`
/// writes it.
template <class S>
class Output {
 public:
  Output(S* given, const char* name) : given_(output(given, name)) { check_size(given_.struct_size, first_size<S>, name); }
  void operator=(S value) noexcept {
    value.struct_size = given_.struct_size;
    if (value.struct_size > sizeof(S))  // fields of a later release
      std::memset(reinterpret_cast<char*>(&given_) + sizeof(S), 0, value.struct_size - sizeof(S));
    std::memcpy(&given_, &value, std::min(value.struct_size, sizeof(S)));
  }

 private:
  S& given_;
};

/// A copy that `weir_free` frees.
char* new_text(std::string_view text);
void* new_bytes(const void* bytes, std::size_t count);

/// A callback's data. Destroyed exactly once.
class UserData {
 public:
  UserData(void (*destroy)(void*), void* data) noexcept : destroy_(destroy), data_(data) {}
  UserData(UserData&& other) noexcept : destroy_(std::exchange(other.destroy_, nullptr)), data_(other.data_) {}
  UserData& operator=(UserData&&) = delete;
  ~UserData() {
    if (destroy_ != nullptr) destroy_(data_);
  }
  void* get() const noexcept { return data_; }

 private:
  void (*destroy_)(void*);
  void* data_;
};

}  // namespace weir::c
