// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <type_traits>

/// Elements in any memory: device, pinned, managed or plain.
namespace weir {

/// A pointer and a count of elements (not bytes). Owns nothing, and offers no element access: the memory may be a
/// device's. Made from anything that has `data()` and `size()` (a `Buffer`, a `std::span`, a `std::vector`), from a C
/// array, or from a pointer and a count.
template <class T>
class Span {
 public:
  using element_type = T;

  constexpr Span() noexcept = default;
  constexpr Span(T* data, std::size_t count) noexcept : data_(data), size_(count) {}
  template <std::size_t N>
  constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <class R>
    requires(!std::is_array_v<std::remove_reference_t<R>>) && requires(R& r) {
      { std::data(r) } -> std::convertible_to<T*>;
      { std::size(r) } -> std::convertible_to<std::size_t>;
    }
  constexpr Span(R&& range) noexcept : data_(std::data(range)), size_(std::size(range)) {}

  constexpr T* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// Elements `[offset, offset + count)`; the caller sees to it that they are within the span.
  constexpr Span subspan(std::size_t offset, std::size_t count) const noexcept { return {data_ + offset, count}; }
  constexpr Span first(std::size_t count) const noexcept { return {data_, count}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class R>
  requires(!std::is_array_v<std::remove_reference_t<R>>)
Span(R&& range) -> Span<std::remove_pointer_t<decltype(std::data(range))>>;
template <class T, std::size_t N>
Span(T (&)[N]) -> Span<T>;

}  // namespace weir
