// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "weir/memory.hpp"
#include "weir/span.hpp"
#include "weir/update_kind.hpp"

/// Declarations of how operations use memory: which bytes they read and write. Tools, such as the race detector, receive
/// these declarations with each operation (docs/tools.md).
namespace weir {

/// How memory is used.
enum class AccessKind : std::uint8_t {
  read,
  write,
  read_write,  ///< the default, if nothing more is known
  /// Only atomic read-modify-writes, such as `atomicAdd`, that commute with all other accesses declared as `atomic`. Such
  /// accesses may run concurrently.
  atomic,
};

/// Memory that an operation accesses: `rows` rows of `bytes` bytes each. Rows begin `pitch` bytes apart.
struct MemoryAccess {
  const void* address = nullptr;
  std::size_t bytes = 0;
  AccessKind kind = AccessKind::read_write;
  std::size_t pitch = 0;
  std::size_t rows = 1;
  /// The program passed a plain pointer without a size. `bytes` is then the size of one element, and the operation may also
  /// access memory before and after it.
  bool is_open = false;
  /// For `read_write` and `atomic`: the kind of the updates, if the operation accesses the memory in no other way.
  /// Operations whose updates have the same kind may run concurrently.
  UpdateKind update = UpdateKind::unknown;
};

/// A kernel's argument with a declaration of how the kernel uses its memory. Made by `accesses::reads`, `accesses::writes`
/// and `accesses::atomic`.
template <class T, AccessKind Kind>
struct Accessed {
  T* data = nullptr;
  std::size_t size = 0;

  operator MemoryAccess() const noexcept { return {data, size * sizeof(T), Kind}; }
};

namespace detail {

template <AccessKind Kind, class R>
auto accessed(R&& range) noexcept {
  const Span elements = lasting_span(std::forward<R>(range));
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  static_assert(Kind == AccessKind::read || !std::is_const_v<T>, "what is written must not be const");
  return Accessed<T, Kind>{elements.data(), elements.size()};
}

}  // namespace detail

/// Functions that declare how a kernel uses the memory of its arguments. Declarations are for tools; they do not change how
/// the kernel runs.
namespace accesses {

/// An argument of `Stream::launch` that the kernel only reads: `launch(kernel, config, accesses::reads(x),
/// accesses::writes(y))`. `range` is a `Buffer`, a `Span` or any other `ElementRange`. The kernel receives the address of
/// the first element, as it would without `reads`. For an argument without a declaration, tools assume that the kernel reads
/// and writes the memory, or only reads it if the elements are `const`.
template <ElementRange R>
auto reads(R&& range) noexcept {
  return detail::accessed<AccessKind::read>(std::forward<R>(range));
}
/// An argument of `Stream::launch` whose memory the kernel writes without reading it first.
template <ElementRange R>
auto writes(R&& range) noexcept {
  return detail::accessed<AccessKind::write>(std::forward<R>(range));
}
/// An argument that the kernel accesses only by atomic read-modify-writes, such as a counter or a histogram. Tools accept
/// that kernels with this declaration for the same memory run concurrently. So their updates must commute: additions commute
/// with additions, but not with maxima.
template <ElementRange R>
auto atomic(R&& range) noexcept {
  return detail::accessed<AccessKind::atomic>(std::forward<R>(range));
}

}  // namespace accesses

namespace detail {

template <class T>
inline constexpr AccessKind access_kind = std::is_const_v<T> ? AccessKind::read : AccessKind::read_write;
/// The size to report for a plain pointer: one element, because the number of elements is unknown.
template <class T>
inline constexpr std::size_t element_bytes = sizeof(T);
template <class T>
requires(std::is_void_v<T> || std::is_function_v<T>) inline constexpr std::size_t element_bytes<T> = 1;

/// The memory of an argument. An argument without memory, such as a number or a null pointer, has 0 bytes. Therefore an
/// access with a null address and more than 0 bytes comes from a range.
template <class T>
MemoryAccess access_of(const T& argument) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    using E = std::remove_pointer_t<T>;
    // Cast through an integer, because the pointer may point to a volatile object or to a function.
    return {reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(argument)),
            argument != nullptr ? element_bytes<E> : 0, access_kind<E>, 0, 1, true};
  } else {
    return {};
  }
}
template <class T>
MemoryAccess access_of(const Buffer<T>& buffer) noexcept {
  return {buffer.data(), buffer.size_bytes(), access_kind<T>};
}
template <class T>
MemoryAccess access_of(const Span<T>& span) noexcept {
  return {span.data(), span.size() * sizeof(T), access_kind<T>};
}
template <class T, std::size_t N>
MemoryAccess access_of(const std::span<T, N>& span) noexcept {
  return {span.data(), span.size_bytes(), access_kind<T>};
}
template <class T, AccessKind Kind>
MemoryAccess access_of(const Accessed<T, Kind>& accessed) noexcept {
  return accessed;
}
inline MemoryAccess access_of(const AllocationPtr& allocation) noexcept {
  return allocation ? MemoryAccess{allocation->data(), allocation->size_bytes()} : MemoryAccess{};
}

}  // namespace detail
}  // namespace weir
