// SPDX-License-Identifier: Apache-2.0
#include "weir/span.hpp"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "weir/memory.hpp"

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
  static_assert(std::is_same_v<decltype(Span(weir::Buffer<int>())), Span<int>>);
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

TEST_CASE("span: parts of it") {
  int values[10];
  const Span<int> all(values);
  CHECK(all.subspan(3, 4).data() == values + 3);
  CHECK(all.subspan(3, 4).size() == 4);
  CHECK(all.first(2).data() == values);
  CHECK(all.first(2).size() == 2);
  CHECK(all.subspan(10, 0).empty());
  CHECK(Span<int>().empty());
  CHECK(Span<int>().data() == nullptr);
}
