// SPDX-License-Identifier: Apache-2.0
#include "weir/span.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/error.hpp"
#include "weir/memory.hpp"

// Tests Span.

using weir::Span;

TEST_CASE("span: made of whatever holds elements, with their constness") {
  std::vector<float> vector(7);
  const std::vector<float> constant(3);
  std::array<int, 4> array{};
  double c_array[5] = {};
  const double constant_array[2] = {};
  static_assert(std::is_same_v<decltype(Span(vector)), Span<float>>);
  static_assert(std::is_same_v<decltype(Span(constant)), Span<const float>>);
  static_assert(std::is_same_v<decltype(Span(array)), Span<int>>);
  static_assert(std::is_same_v<decltype(Span(c_array)), Span<double>>);
  static_assert(std::is_same_v<decltype(Span(constant_array)), Span<const double>>);
  static_assert(std::is_same_v<decltype(Span(std::span<const int>())), Span<const int>>);
  weir::Buffer<int> buffer;
  static_assert(std::is_same_v<decltype(Span(buffer)), Span<int>>);
  CHECK(Span(vector).data() == vector.data());
  CHECK(Span(vector).size() == 7);
  CHECK(Span(vector).size_bytes() == 7 * sizeof(float));
  CHECK(Span(c_array).size() == 5);
  CHECK(Span(c_array).data() == c_array);
}

TEST_CASE("span: to elements that must not be written, but not back") {
  static_assert(std::is_convertible_v<Span<int>, Span<const int>>);
  static_assert(!std::is_convertible_v<Span<const int>, Span<int>>);
  static_assert(!std::is_convertible_v<Span<int>, Span<long>>);
  static_assert(std::is_trivially_copyable_v<Span<int>>);
  static_assert(sizeof(Span<int>) == 2 * sizeof(void*));
}

namespace {

struct Base {
  int a;
};
struct Longer : Base {
  int b;
};

template <class T, class From>
constexpr bool made_of = std::is_constructible_v<Span<T>, From>;
template <class T, class From>
constexpr bool as_std = made_of<T, From> == std::is_constructible_v<std::span<T>, From>;

}  // namespace

TEST_CASE("span: takes no elements of a derived class, which are of another size") {
  static_assert(!made_of<Base, std::vector<Longer>&> && as_std<Base, std::vector<Longer>&>);
  static_assert(!made_of<const Base, const std::vector<Longer>&> && as_std<const Base, const std::vector<Longer>&>);
  static_assert(!made_of<Base, Longer (&)[3]> && as_std<Base, Longer (&)[3]>);
  static_assert(!made_of<Base, Span<Longer>>);
  static_assert(!made_of<Base*, std::vector<Longer*>&> && as_std<Base*, std::vector<Longer*>&>);
  static_assert(made_of<const int, std::vector<int>&> && made_of<const int, int (&)[3]> && made_of<const int, Span<int>>);
  CHECK(made_of<Base, std::vector<Base>&>);
}

TEST_CASE("span: accepts temporary views, but no temporary that owns its elements") {
  static_assert(!made_of<int, std::vector<int>> && as_std<int, std::vector<int>>);
  static_assert(!made_of<const int, std::vector<int>>);
  static_assert(!made_of<int, std::array<int, 3>> && as_std<int, std::array<int, 3>>);
  static_assert(!made_of<int, weir::Buffer<int>> && !made_of<const int, weir::Buffer<int>>);
  static_assert(made_of<int, std::span<int>> && made_of<int, std::span<int, 3>> && made_of<const char, std::string_view>);
  static_assert(made_of<int, Span<int>> && made_of<int, weir::Buffer<int>&> && made_of<int, const weir::Buffer<int>&>);
  CHECK(made_of<const int, const std::vector<int>&>);
}

TEST_CASE("span: more bytes than any memory has are an error, not a small number") {
  int values[3] = {};
  CHECK(Span<int>(values).size_bytes() == 12);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t count : {most, most / 4 + 2, most / 4, most / 16 + 1}) {
    CAPTURE(count);
    CHECK_THROWS_AS((void)Span<int>(values, count).size_bytes(), weir::Error);
  }
  CHECK(Span<int>(values, most / 16).size_bytes() == most / 16 * 4);
}
