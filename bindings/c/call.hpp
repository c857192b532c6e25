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

/// What each function of the C interface is made of: handles become objects, exceptions become results.
namespace weir::c {

// --- Exceptions become results ------------------------------------------------------------------------------------------

/// A mistake that the C interface finds itself.
struct Refused {
  Errc code;
  std::string why;
};
[[noreturn]] void throw_invalid(std::string why);
/// A callback that may call Weir returned this.
struct CallbackFailed {
  weir_result result;
  std::uint64_t failures_before;
};
/// How many calls of this thread have failed.
std::uint64_t failures() noexcept;

weir_result result_of(Errc code) noexcept;
weir_result result_of(const std::error_code& code) noexcept;
/// Makes the exception that is being handled the calling thread's last error.
weir_result failed(const char* function) noexcept;

/// What every function that can fail consists of. `function`: its name.
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

/// The class behind a handle. A handle is the address of its object.
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

/// The object behind a handle; null for null.
template <class Handle>
auto* object(Handle* handle) noexcept {
  using Object = typename Behind<std::remove_const_t<Handle>>::type;
  return reinterpret_cast<std::conditional_t<std::is_const_v<Handle>, const Object, Object>*>(handle);
}
/// The same, which must not be null. `name`: the parameter's.
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
/// Hands an owner over to the caller.
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

/// Where a result goes, which must not be null: asked for before anything is done.
template <class T>
T& output(T* pointer, const char* name) {
  if (pointer == nullptr) [[unlikely]]
    throw_null(name);
  return *pointer;
}
/// A name, which may be null.
inline const char* name_or_none(const char* characters) noexcept { return characters != nullptr ? characters : ""; }
/// A text, which must not be null.
inline const char* text(const char* characters, const char* name) { return &output(characters, name); }
/// `count` elements, which may be null if there are none.
template <class T>
T* elements(T* pointer, std::size_t count, const char* name) {
  if (pointer == nullptr && count != 0) throw_null(name);
  return pointer;
}

[[noreturn]] void throw_unknown_enumerator(const char* name, unsigned value);
/// The enumerator of C++ with the number of one of C, of which `last` is the last.
template <class E, class C>
E enumerator(C value, E last, const char* name) {
  if (static_cast<unsigned>(value) > static_cast<unsigned>(last)) [[unlikely]]
    throw_unknown_enumerator(name, static_cast<unsigned>(value));
  return static_cast<E>(value);
}
/// Throws for a bit of `flags` that is not in `known`.
void check_flags(std::uint32_t flags, std::uint32_t known, const char* name);

/// The size of a structure in its first release. One that has grown has its first size here, as a specialization.
template <class S>
inline constexpr std::size_t first_size = sizeof(S);
template <>
inline constexpr std::size_t first_size<weir_launch_config> = offsetof(weir_launch_config, cluster);

void check_size(std::size_t size, std::size_t first, const char* name);
void check_rest(const void* given, std::size_t known, const char* name);

/// The caller's options: what an older program does not know is 0, and what this library does not know must be.
template <class S>
S options(const S* given, const char* name) {
  S all{};
  if (given == nullptr) return all;
  check_size(given->struct_size, first_size<S>, name);
  if (given->struct_size > sizeof(S)) check_rest(given, sizeof(S), name);
  std::memcpy(&all, given, std::min(given->struct_size, sizeof(S)));
  return all;
}

/// The caller's structure for a result, of any release: asked for before anything is done, and written by `=`.
template <class S>
class Output {
 public:
  Output(S* given, const char* name) : given_(output(given, name)) { check_size(given_.struct_size, first_size<S>, name); }
  void operator=(S value) noexcept {
    value.struct_size = given_.struct_size;
    if (value.struct_size > sizeof(S))  // what a later release has there is unknown to this one
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
