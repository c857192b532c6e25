// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "weir/export.hpp"
#include "weir/span.hpp"

/// `PitchedSpan`: images and volumes whose rows are stored at a pitch, and boxes within them.
namespace weir {

/// The size of a box: the number of elements in a row, of rows in a slice, and of slices (cudaExtent).
struct Extent {
  std::size_t width = 0;   ///< elements
  std::size_t height = 1;  ///< rows
  std::size_t depth = 1;   ///< slices

  /// Whether there are no elements.
  constexpr bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// The position of an element in a `PitchedSpan`, counted from 0 (cudaPos).
struct Position {
  std::size_t x = 0;  ///< element in the row
  std::size_t y = 0;  ///< row in the slice
  std::size_t z = 0;  ///< slice
};

namespace detail {

/// A `PitchedSpan` without its element type: all sizes are in bytes.
struct PitchedBytes {
  void* data = nullptr;
  std::size_t width = 0;        ///< bytes
  std::size_t height = 1;       ///< rows
  std::size_t depth = 1;        ///< slices
  std::size_t row_pitch = 0;    ///< bytes
  std::size_t slice_pitch = 0;  ///< bytes

  constexpr bool empty() const noexcept { return width == 0 || height == 0 || depth == 0; }
};

/// Throws `length_mismatch` if `elements` is less than the number of elements in `extent`.
WEIR_API void check_extent(std::size_t elements, const Extent& extent);
/// Throws `invalid_argument` if the box is not within `extent`.
WEIR_API void check_box(const Extent& extent, const Position& origin, const Extent& box);

}  // namespace detail

/// A view of elements in rows and slices, in any memory (cudaPitchedPtr together with cudaExtent). Like `Span`, it owns
/// nothing and has no element access, because the elements may be on a device. `PitchedSpan<float>{.data = p, .extent =
/// {640, 480}, .row_pitch = 2560}`.
template <class T>
struct PitchedSpan {
  /// The type of an element.
  using element_type = T;

  T* data = nullptr;            ///< the first element
  Extent extent;                ///< the number of elements, rows and slices
  std::size_t row_pitch = 0;    ///< bytes from one row to the next; 0: rows are dense
  std::size_t slice_pitch = 0;  ///< bytes from one slice to the next, a multiple of `row_pitch`; 0: slices are dense

  /// The bytes from one row to the next.
  constexpr std::size_t row_bytes() const noexcept { return row_pitch != 0 ? row_pitch : extent.width * sizeof(T); }
  /// The bytes from one slice to the next.
  constexpr std::size_t slice_bytes() const noexcept { return slice_pitch != 0 ? slice_pitch : row_bytes() * extent.height; }
  /// The box of the given size that begins at `origin`. Throws `invalid_argument` if it is not within this one.
  PitchedSpan box(const Position& origin, const Extent& size) const {
    detail::check_box(extent, origin, size);
    using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
    auto* const first = reinterpret_cast<Byte*>(data) + origin.z * slice_bytes() + origin.y * row_bytes();
    return {reinterpret_cast<T*>(first) + origin.x, size, row_bytes(), slice_bytes()};
  }
  /// Converts to a view of constant elements.
  constexpr operator PitchedSpan<const T>() const noexcept requires(!std::is_const_v<T>) {
    return {data, extent, row_pitch, slice_pitch};
  }
};

/// The first elements of `range` as dense rows and slices of the given extent. Throws `length_mismatch` if `range` has too
/// few elements.
template <ElementRange R>
auto pitched(R&& range, const Extent& extent) {
  const Span elements = detail::lasting_span(std::forward<R>(range));
  detail::check_extent(elements.size(), extent);
  using T = typename std::remove_const_t<decltype(elements)>::element_type;
  return PitchedSpan<T>{elements.data(), extent, 0, 0};
}

namespace detail {

template <class T>
PitchedBytes bytes_of(const char* operation, const PitchedSpan<T>& span) {
  return {const_cast<std::remove_const_t<T>*>(span.data),
          byte_count(operation, span.extent.width, sizeof(T)),
          span.extent.height,
          span.extent.depth,
          span.row_bytes(),
          span.slice_bytes()};
}

}  // namespace detail
}  // namespace weir
