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

/// How operations use memory, as reported to tools (docs/tools.md).
namespace weir {

/// How memory is used.
enum class AccessKind : std::uint8_t {
  read,
  write,
  read_write,  ///< also used if the access is unknown
  /// Only atomic read-modify-writes, such as `atomicAdd`, which commute with all others declared so. Such operations need
  /// not be ordered.
  atomic,
};

/// Memory that an operation accesses: `rows` rows of `bytes` bytes, whose starts are `pitch` bytes apart.
struct MemoryAccess {
  const void* address = nullptr;
  std::size_t bytes = 0;
  AccessKind kind = AccessKind::read_write;
  std::size_t pitch = 0;
  std::size_t rows = 1;
  /// The memory was given as a plain pointer: `bytes` is the size of one element, and the work may access more around it.
  bool is_open = false;
  /// For `read_write` and `atomic`: the kind of the updates, if the work does nothing else with the memory. Work with
  /// updates of the same kind need not be ordered.
  UpdateKind update = UpdateKind::unknown;
};

/// A kernel's argument together with how the kernel uses its memory: see `reads` and `writes`.
template <class T, AccessKind Kind>
struct Accessed {
  T* data = nullptr;
  std::size_t size = 0;

  /// The memory and its use.
  operator MemoryAccess() const noexcept { return {data, size * sizeof(T), Kind}; }
};

/// Declares how a kernel uses the memory of its arguments.
namespace accesses {

/// An argument of `Stream::launch` that the kernel only reads: `launch(kernel, config, accesses::reads(x),
/// accesses::writes(y))`. The kernel gets the address of the first element, as it would for `range` itself. Without such a
/// declaration, a kernel counts as reading and writing its arguments' memory, and as only reading `const` memory. `range`: a
/// `Buffer`, a `Span` or any other `ElementRange`.
template <ElementRange R>
auto reads(R&& range) noexcept {
  const Span elements = detail::lasting_span(std::forward<R>(range));
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  return Accessed<T, AccessKind::read>{elements.data(), elements.size()};
}
/// An argument whose memory the kernel writes without reading it first.
template <ElementRange R>
auto writes(R&& range) noexcept {
  const Span elements = detail::lasting_span(std::forward<R>(range));
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  static_assert(!std::is_const_v<T>, "what is written must not be const");
  return Accessed<T, AccessKind::write>{elements.data(), elements.size()};
}
/// An argument that the kernel accesses only by atomic read-modify-writes, such as a counter or a histogram. They must
/// commute with those of all kernels that declare the same for this memory, as additions do with additions, but not with
/// maxima. Such kernels may run concurrently.
template <ElementRange R>
auto atomic(R&& range) noexcept {
  const Span elements = detail::lasting_span(std::forward<R>(range));
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  static_assert(!std::is_const_v<T>, "what is written must not be const");
  return Accessed<T, AccessKind::atomic>{elements.data(), elements.size()};
}

}  // namespace accesses

namespace detail {

template <class T>
inline constexpr AccessKind access_kind = std::is_const_v<T> ? AccessKind::read : AccessKind::read_write;
/// The bytes of a pointer without further information: those of one element.
template <class T>
inline constexpr std::size_t element_bytes = sizeof(T);
template <class T>
requires(std::is_void_v<T> || std::is_function_v<T>) inline constexpr std::size_t element_bytes<T> = 1;

/// The memory of an argument; no bytes for an argument without memory, such as a null pointer. So bytes at a null address
/// belong to a range.
template <class T>
MemoryAccess access_of(const T& argument) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    using E = std::remove_pointer_t<T>;
    // Converted through an integer, because the pointer may be to a volatile object or to a function.
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
