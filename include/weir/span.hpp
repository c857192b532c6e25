// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>

#include "weir/export.hpp"

/// `Span`: a pointer and a number of elements in any memory: device, pinned, managed or pageable.
namespace weir {

namespace detail {

[[noreturn]] WEIR_API void throw_bad_subspan(std::size_t offset, std::size_t count, std::size_t size);

[[noreturn]] WEIR_API void throw_too_many_bytes(const char* operation, std::size_t count, std::size_t element_size);

[[noreturn]] WEIR_API void throw_length_mismatch(const char* operation, const std::string& object, std::size_t to,
                                                 std::size_t from);

/// A limit that no memory reaches. Sizes up to this limit can be added and subtracted without overflow.
inline constexpr std::size_t most_bytes = SIZE_MAX / 4;

/// Returns `count * element_size`. Throws `invalid_argument` if the product exceeds `most_bytes`.
constexpr std::size_t byte_count(const char* operation, std::size_t count, std::size_t element_size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, element_size, &bytes) || bytes > most_bytes) [[unlikely]] {
    throw_too_many_bytes(operation, count, element_size);
  }
  return bytes;
}

/// An array of `From` can be used as an array of `To`: both have the same element type, and `To` is const if `From` is.
template <class From, class To>
concept SameElements = std::is_convertible_v<From (*)[], To (*)[]>;

template <class R>
using elements_of = std::remove_pointer_t<decltype(std::data(std::declval<R&>()))>;

/// Whether the elements of an argument of type `R` outlive the call: the argument is an lvalue, or a view that does not own
/// its elements.
template <class R>
inline constexpr bool outlives_call =
    std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

}  // namespace detail

/// Types with contiguous elements: a `Buffer`, a `Span`, a `std::span`, a container with `data()` and `size()`, an array.
template <class R>
concept ElementRange = requires(std::remove_reference_t<R>& r) {
  { std::size(r) } -> std::convertible_to<std::size_t>;
  requires std::is_pointer_v<decltype(std::data(r))>;
};

/// A pointer and a number of elements. Owns nothing. Has no element access, because the elements may be in device memory.
/// Made from an `ElementRange`, or from a pointer and a count. Like `std::span`, it cannot be made from elements of a
/// derived class, or from a temporary that owns its elements.
template <class T>
class [[nodiscard]] Span {
 public:
  /// The type of an element.
  using element_type = T;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t count) noexcept : data_(data), size_(count) {}
  template <class U, std::size_t N>
    requires detail::SameElements<U, T>
  constexpr Span(U (&array)[N]) noexcept : data_(array), size_(N) {}
  template <ElementRange R>
    requires(!std::is_array_v<std::remove_reference_t<R>> && detail::outlives_call<R> &&
             detail::SameElements<detail::elements_of<R>, T>)
  constexpr Span(R&& range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

  /// The first element's address, which may be on a device.
  constexpr T* data() const noexcept { return data_; }
  /// The number of elements.
  constexpr std::size_t size() const noexcept { return size_; }
  /// The size of the elements in bytes. Throws `invalid_argument` if the size exceeds a quarter of the address space.
  constexpr std::size_t size_bytes() const { return detail::byte_count("Span::size_bytes", size_, sizeof(T)); }
  /// Whether there are no elements.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Does not compile, because the elements may be on a device. For pinned and managed memory use `Buffer::host()[i]`.
  T& operator[](std::size_t) const = delete;  // use Buffer::host()[i] for pinned or managed memory
  /// Elements `[offset, offset + count)`. Throws `invalid_argument` if some are outside.
  constexpr Span subspan(std::size_t offset, std::size_t count) const {
    if (offset > size_ || count > size_ - offset) [[unlikely]]
      detail::throw_bad_subspan(offset, count, size_);
    return {data_ + offset, count};
  }
  /// All elements from index `offset` on. Throws `invalid_argument` if `offset` is greater than `size()`.
  constexpr Span subspan(std::size_t offset) const { return subspan(offset, offset <= size_ ? size_ - offset : 0); }
  /// The first `count` elements. Throws `invalid_argument` if there are fewer.
  constexpr Span first(std::size_t count) const { return subspan(0, count); }
  /// The last `count` elements. Throws `invalid_argument` if there are fewer.
  constexpr Span last(std::size_t count) const {
    if (count > size_) [[unlikely]]
      detail::throw_bad_subspan(0, count, size_);
    return {data_ + (size_ - count), count};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Deduces the element type from the range.
template <ElementRange R>
  requires(!std::is_array_v<std::remove_reference_t<R>>)
Span(R&& range) -> Span<detail::elements_of<R>>;
template <class T, std::size_t N>
Span(T (&)[N]) -> Span<T>;

/// The bytes of the elements, like `std::as_bytes`.
template <class T>
constexpr Span<const std::byte> as_bytes(Span<T> elements) {
  return {reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes()};
}
/// The bytes of the elements as writable bytes, like `std::as_writable_bytes`.
template <class T>
  requires(!std::is_const_v<T>)
constexpr Span<std::byte> as_writable_bytes(Span<T> elements) {
  return {reinterpret_cast<std::byte*>(elements.data()), elements.size_bytes()};
}

namespace detail {

/// Returns the elements of `range`. Compiles only if the elements outlive the call, because the device uses them later.
template <class R>
constexpr auto lasting_span(R&& range) noexcept {
  static_assert(outlives_call<R>, "the memory is used after this call has returned: keep what owns it in a variable");
  return Span(range);
}

/// Compiles only if elements of type `From` can be copied to elements of type `To`.
template <class To, class From>
constexpr void check_copyable() noexcept {
  static_assert(!std::is_const_v<To>, "the destination of a copy must not be const");
  static_assert(std::is_same_v<To, std::remove_const_t<From>>, "both sides of a copy must have the same element type");
  static_assert(std::is_trivially_copyable_v<To>, "device memory holds trivially copyable types only");
}

}  // namespace detail
}  // namespace weir

template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<weir::Span<T>> = true;
