// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/weir.hpp"

using weir::Dim3;
using weir::KernelArgument;
using weir::LaunchConfig;

namespace {

constexpr bool is(const Dim3& d, unsigned x, unsigned y, unsigned z) { return d.x == x && d.y == y && d.z == z; }

template <class... Parts>
constexpr bool is_config = requires(Parts... parts) { LaunchConfig{parts...}; };

}  // namespace

TEST_CASE("launch config: two numbers are blocks and threads") {
  constexpr LaunchConfig config = {4, 256};
  static_assert(is(config.grid, 4, 1, 1) && is(config.block, 256, 1, 1));
  constexpr LaunchConfig plane = {{4, 2}, 256};
  static_assert(is(plane.grid, 4, 2, 1) && is(plane.block, 256, 1, 1));
  constexpr LaunchConfig full = {{4, 2, 3}, {8, 4, 2}};
  static_assert(is(full.grid, 4, 2, 3) && is(full.block, 8, 4, 2));
  constexpr LaunchConfig named = {.grid = {5}, .block = 6, .shared_memory_bytes = 7, .cooperative = true};
  static_assert(is(named.grid, 5, 1, 1) && is(named.block, 6, 1, 1) && named.shared_memory_bytes == 7 && named.cooperative);
  constexpr LaunchConfig one = {};
  static_assert(is(one.grid, 1, 1, 1) && is(one.block, 1, 1, 1) && one.shared_memory_bytes == 0 && !one.cooperative);
  CHECK(is(LaunchConfig{Dim3(2, 3), Dim3(4)}.grid, 2, 3, 1));
}

TEST_CASE("launch config: three numbers, which could mean several things, do not compile") {
  static_assert(is_config<int, int> && is_config<Dim3, int> && is_config<std::size_t, unsigned>);
  static_assert(!is_config<int, int, int> && !is_config<int, int, int, int> && !is_config<Dim3, Dim3, int>);
  static_assert(!is_config<double, int> && !is_config<int, bool> && !is_config<std::nullptr_t, int>);
  CHECK(std::is_aggregate_v<LaunchConfig>);
}

TEST_CASE("dim3: a number that does not fit becomes one that no device accepts") {
  constexpr unsigned largest = std::numeric_limits<unsigned>::max();
  CHECK(is(Dim3(-1), largest, 1, 1));
  CHECK(is(Dim3(1, std::size_t{1} << 32U), 1, largest, 1));
  CHECK(is(Dim3(1, 2, (1LL << 33U) + 5), 1, 2, largest));
  CHECK(is(Dim3(largest, 0), largest, 0, 1));
}

TEST_CASE("kernel arguments: types that are passed as values, as addresses, or refused") {
  int values[4] = {};
  const std::span<int> span(values);
  CHECK(weir::detail::kernel_argument(span) == values);
  CHECK(weir::detail::kernel_argument(std::span<const int, 4>(values)) == values);
  CHECK(weir::detail::kernel_argument(weir::Span<int>(values)) == values);
  struct Pair {
    double a;
    int b;
  };
  static_assert(KernelArgument<int> && KernelArgument<Pair> && KernelArgument<float*> && KernelArgument<std::nullptr_t>);
  static_assert(KernelArgument<weir::Buffer<int>> && KernelArgument<weir::AllocationPtr>);
  static_assert(!KernelArgument<std::vector<int>> && !KernelArgument<std::string> && !KernelArgument<std::string_view>);
  static_assert(!KernelArgument<int[4]> && !KernelArgument<char[4]> && !KernelArgument<weir::StreamPtr>);
}
