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

/// What work does with memory, as tools are told (docs/tools.md).
namespace weir {

/// What is done with memory.
enum class AccessKind : std::uint8_t {
  read,
  write,
  read_write,  ///< also stands for what is not known
  /// By atomic read-modify-writes alone, as `atomicAdd`, that commute with all others which are stated so: work that does so
  /// need not be ordered.
  atomic,
};

/// Memory that an operation touches: `rows` rows of `bytes` bytes that start `pitch` bytes apart.
struct MemoryAccess {
  const void* address = nullptr;
  std::size_t bytes = 0;
  AccessKind kind = AccessKind::read_write;
  std::size_t pitch = 0;
  std::size_t rows = 1;
  /// It was named by a plain pointer: `bytes` are those of one element, and the work may touch more around it.
  bool is_open = false;
  /// Of `read_write` and `atomic`: what is known of the updates, where the work does nothing else with the memory. Work with
  /// updates of one kind need not be ordered.
  UpdateKind update = UpdateKind::unknown;
};

/// A kernel's argument, and what the kernel does with the memory behind it: see `reads` and `writes`.
template <class T, AccessKind Kind>
struct Accessed {
  T* data = nullptr;
  std::size_t size = 0;

  /// The memory and what is done with it.
  operator MemoryAccess() const noexcept { return {data, size * sizeof(T), Kind}; }
};

/// What an argument's memory is used for.
namespace accesses {

/// An argument of `Stream::launch` that the kernel only reads: `launch(kernel, config, accesses::reads(x),
/// accesses::writes(y))`. The kernel gets the address of the first element, as it would for `range` itself. Where nothing is
/// said, a kernel reads and writes what its arguments name, and reads what they name as `const`. `range`: a `Buffer`, a
/// `Span` or any other `ElementRange`.
template <ElementRange R>
auto reads(R&& range) noexcept {
  const Span elements = detail::lasting_span(std::forward<R>(range));
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  return Accessed<T, AccessKind::read>{elements.data(), elements.size()};
}
/// An argument that the kernel writes, and does not read before.
template <ElementRange R>
auto writes(R&& range) noexcept {
  const Span elements = detail::lasting_span(std::forward<R>(range));
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  static_assert(!std::is_const_v<T>, "what is written must not be const");
  return Accessed<T, AccessKind::write>{elements.data(), elements.size()};
}
/// An argument that the kernel touches by atomic read-modify-writes alone, as a counter or a histogram. They must commute
/// with those of all kernels of which the same is said for the memory, as additions do with additions, but not with maxima:
/// such kernels may run at once.
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
/// The bytes that a pointer stands for of which nothing else is known: those of one element.
template <class T>
inline constexpr std::size_t element_bytes = sizeof(T);
template <class T>
requires(std::is_void_v<T> || std::is_function_v<T>) inline constexpr std::size_t element_bytes<T> = 1;

/// The memory that an argument names; no bytes for one that names none, as a null pointer does. So bytes at a null address
/// are those of a range.
template <class T>
MemoryAccess access_of(const T& argument) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    using E = std::remove_pointer_t<T>;
    // By a number, since the pointer may be to what is volatile, or to a function.
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
