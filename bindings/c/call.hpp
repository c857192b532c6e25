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

/// Functions for writing the C functions: they convert exceptions to results, handles to objects, and arguments
/// to C++ types.
namespace weir::c {

// --- Exceptions become results ------------------------------------------------------------------------------------------

/// Thrown for a mistake of the caller that the C interface itself detects.
struct Refused {
  Errc code;
  std::string why;
};
[[noreturn]] void throw_invalid(std::string why);
/// Thrown if a callback that may call Weir has returned an error. `failures_before`: the result of `failures()` before the
/// callback was called.
struct CallbackFailed {
  weir_result result;
  std::uint64_t failures_before;
};
/// The number of calls that have failed on the calling thread.
std::uint64_t failures() noexcept;

weir_result result_of(Errc code) noexcept;
weir_result result_of(const std::error_code& code) noexcept;
/// Stores the exception that is being handled as the calling thread's last error, and returns its result code.
weir_result failed(const char* function) noexcept;

/// Calls `body` and returns `WEIR_SUCCESS`; if `body` throws, stores the error and returns its code. `function`: the name of
/// the C function.
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

/// Maps a handle's type to the class of its object. A handle is the address of its object.
template <class Handle>
struct Behind;
/// Maps a class to its handle's type.
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

/// Returns the object of a handle, or null for a null handle.
template <class Handle>
auto* object(Handle* handle) noexcept {
  using Object = typename Behind<std::remove_const_t<Handle>>::type;
  return reinterpret_cast<std::conditional_t<std::is_const_v<Handle>, const Object, Object>*>(handle);
}
/// Returns the object of a handle. Throws `invalid_argument` for null. `name`: the parameter's name, for the error.
template <class Handle>
auto& required(Handle* handle, const char* name) {
  if (handle == nullptr) [[unlikely]]
    throw_null(name);
  return *object(handle);
}
/// Returns the handle of an object, without ownership.
template <class Object>
auto* handle(Object* object) noexcept {
  return reinterpret_cast<typename Before<std::remove_const_t<Object>>::type*>(
      const_cast<std::remove_const_t<Object>*>(object));
}
/// Returns the handle of an object, with a reference that the program must release.
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

template <class Handle>
weir_device* device_of(const Handle* handle) noexcept {
  return handle != nullptr ? weir::c::handle(&object(handle)->device()) : nullptr;
}
template <class Handle>
void* native_handle_of(const Handle* handle) noexcept {
  return handle != nullptr ? object(handle)->native_handle() : nullptr;
}

// --- Arguments ----------------------------------------------------------------------------------------------------------

/// Returns the output parameter. Throws if it is null. C functions call this first, so that a failure has no effect.
template <class T>
T& output(T* pointer, const char* name) {
  if (pointer == nullptr) [[unlikely]]
    throw_null(name);
  return *pointer;
}
/// Returns `characters`, or "" for null.
inline const char* name_or_none(const char* characters) noexcept { return characters != nullptr ? characters : ""; }
/// Returns `characters`. Throws if it is null.
inline const char* text(const char* characters, const char* name) { return &output(characters, name); }
/// Returns `pointer`, the first of `count` elements. Throws if it is null and `count` is not 0.
template <class T>
T* elements(T* pointer, std::size_t count, const char* name) {
  if (pointer == nullptr && count != 0) throw_null(name);
  return pointer;
}

[[noreturn]] void throw_unknown_enumerator(const char* name, unsigned value);
/// Converts a C enumerator to the C++ enumerator with the same number. Throws if the number is greater than that of `last`.
template <class E, class C>
E enumerator(C value, E last, const char* name) {
  if (static_cast<unsigned>(value) > static_cast<unsigned>(last)) [[unlikely]]
    throw_unknown_enumerator(name, static_cast<unsigned>(value));
  return static_cast<E>(value);
}
/// Throws if `flags` has a bit that is not in `known`.
void check_flags(std::uint32_t flags, std::uint32_t known, const char* name);

/// The size that a structure had in its first release: the minimum of `struct_size`. Specialized for structures that got
/// more fields.
template <class S>
inline constexpr std::size_t first_size = sizeof(S);
template <>
inline constexpr std::size_t first_size<weir_launch_config> = offsetof(weir_launch_config, cluster);

void check_size(std::size_t size, std::size_t first, const char* name);
void check_rest(const void* given, std::size_t known, const char* name);

/// Copies the caller's options, whose structure may be from another release. Fields that the caller's structure lacks become
/// 0. Throws if a field that this library does not support is not 0.
template <class S>
S options(const S* given, const char* name) {
  S all{};
  if (given == nullptr) return all;
  check_size(given->struct_size, first_size<S>, name);
  if (given->struct_size > sizeof(S)) check_rest(given, sizeof(S), name);
  std::memcpy(&all, given, std::min(given->struct_size, sizeof(S)));
  return all;
}

/// The caller's structure for a result, which may be from another release. The constructor checks `struct_size`, so that a
/// failure has no effect; `=` copies the fields that the caller's structure has.
template <class S>
class Output {
 public:
  Output(S* given, const char* name) : given_(output(given, name)) { check_size(given_.struct_size, first_size<S>, name); }
  void operator=(S value) noexcept {
    value.struct_size = given_.struct_size;
    if (value.struct_size > sizeof(S))  // set fields of a later release to 0
      std::memset(reinterpret_cast<char*>(&given_) + sizeof(S), 0, value.struct_size - sizeof(S));
    std::memcpy(&given_, &value, std::min(value.struct_size, sizeof(S)));
  }

 private:
  S& given_;
};

/// Calls `body` like `call`, and stores what it returns in `*result`. Refuses a null `result`, and a structure with an
/// invalid `struct_size`, before it calls `body`.
template <class T, class F>
weir_result give(const char* function, T* result, const char* name, F&& body) noexcept {
  return call(function, [&] {
    if constexpr (requires { result->struct_size; }) {
      Output checked(result, name);
      checked = std::forward<F>(body)();
    } else {
      T& given = output(result, name);
      given = std::forward<F>(body)();
    }
  });
}

/// Returns a copy on the heap, for the caller to free with `weir_free`. Throws std::bad_alloc.
char* new_text(std::string_view text);
void* new_bytes(const void* bytes, std::size_t count);

/// Owns the `user_data` of a callback: the destructor calls `destroy(user_data)`, if `destroy` is not null.
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
