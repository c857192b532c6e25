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

// Tests launch configurations.

using weir::Dim3;
using weir::KernelArgument;
using weir::KernelParameter;
using weir::LaunchConfig;

namespace {

constexpr bool is(const Dim3& d, unsigned x, unsigned y, unsigned z) { return d.x == x && d.y == y && d.z == z; }

template <class... Parts>
constexpr bool is_config = requires(Parts... parts) { LaunchConfig{parts...}; };

/// Whether `{}` may stand for no arguments, and for no sizes.
template <class S>
constexpr bool takes_nothing = requires(S& stream, weir::KernelRef kernel) { stream.launch_raw(kernel, {1, 1}, {}, {}); };
static_assert(takes_nothing<weir::Stream>);

namespace all_names {
using namespace weir;
/// POSIX has functions whose names Weir must not have, too.
[[maybe_unused]] bool is_there(const char* path) { return access(path, R_OK) == 0; }
}  // namespace all_names

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

TEST_CASE("launch config: numbers mean what they mean between chevrons") {
  static_assert(is_config<int, int> && is_config<Dim3, int> && is_config<std::size_t, unsigned>);
  static_assert(is_config<int, int, unsigned> && !is_config<int, int, unsigned, int> && !is_config<int, int, Dim3>);
  CHECK(LaunchConfig{4, 2, 256}.shared_memory_bytes == 256);
  static_assert(!is_config<double, int> && !is_config<int, bool> && !is_config<std::nullptr_t, int>);
  CHECK(std::is_aggregate_v<LaunchConfig>);
}

TEST_CASE("dim3: a number that does not fit is an error, which says the number") {
  constexpr unsigned largest = std::numeric_limits<unsigned>::max();
  CHECK_THROWS_WITH(Dim3(-1), "Dim3: an extent cannot be -1; use 1 or more");
  CHECK_THROWS_WITH(Dim3(1, 2, (1LL << 33U) + 5),
                    "Dim3: an extent cannot be 8589934597; no device supports more than 2^31-1 blocks");
  CHECK_THROWS_AS(Dim3(1, std::size_t{1} << 32U), weir::Error);
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

namespace {

/// Whether any argument of type A can be passed for a parameter of type P.
template <class P, class A>
constexpr bool passes = weir::detail::converts_always<weir::detail::passed_t<A>, P>();
/// Whether constants of type A can.
template <class P, class A>
constexpr bool constants_pass = passes<P, A> || weir::detail::converts_sometimes<A, P>();
template <class P, class A>
constexpr bool is_value(A number) {
  return weir::detail::is_value_of<P>(number);
}

}  // namespace

TEST_CASE("typed kernels: numbers convert where every value of their type is one of the parameter's") {
  static_assert(passes<int, int> && passes<int, short> && passes<int, unsigned char> && passes<int, bool> &&
                passes<int, char>);
  static_assert(passes<long long, int> && passes<long long, unsigned> && passes<unsigned, unsigned short>);
  static_assert(passes<double, float> && passes<double, int> && passes<double, unsigned> && passes<float, short>);
  static_assert(!passes<int, long> && !passes<int, unsigned> && !passes<unsigned, int> && !passes<unsigned long, int>);
  static_assert(!passes<float, double> && !passes<float, int> && !passes<double, long> && !passes<int, float>);
  static_assert(!passes<bool, int> && !passes<bool, int*> && !passes<int, int*> && !passes<int*, int>);
}

TEST_CASE("typed kernels: a constant converts where it is a value of the parameter's type, as between braces") {
  static_assert(constants_pass<int, unsigned long> && constants_pass<unsigned, int> && constants_pass<float, double>);
  static_assert(constants_pass<float, int> && constants_pass<bool, int> && !constants_pass<int, double>);
  static_assert(is_value<int>(2147483647U) && !is_value<int>(2147483648U) && !is_value<unsigned>(-1));
  static_assert(is_value<signed char>(-128) && !is_value<signed char>(-129) && !is_value<signed char>(128));
  static_assert(is_value<unsigned long long>(1) && is_value<long long>(~0U) && !is_value<long long>(~0ULL));
  static_assert(is_value<float>(16777216) && !is_value<float>(16777217) && is_value<float>(-16777216) &&
                is_value<float>(1LL << 62));
  static_assert(is_value<double>(~0ULL << 11) && !is_value<double>(~0ULL) &&
                is_value<double>(std::numeric_limits<long long>::min()));
  static_assert(is_value<float>(0.1) && !is_value<float>(1e300) && !is_value<float>(-1e300));
  static_assert(is_value<float>(std::numeric_limits<double>::infinity()) &&
                is_value<float>(std::numeric_limits<double>::quiet_NaN()));
  static_assert(is_value<bool>(1) && is_value<bool>(0) && !is_value<bool>(2) && !is_value<bool>(-1));
}

TEST_CASE("typed kernels: memory converts to pointers to its elements, or to constant ones, or to void") {
  static_assert(passes<float*, weir::Buffer<float>> && passes<const float*, weir::Buffer<float>> &&
                passes<void*, weir::Buffer<float>>);
  static_assert(passes<const float*, weir::Span<const float>> && passes<float*, std::span<float, 4>> &&
                passes<float*, float*>);
  static_assert(passes<float*, std::nullptr_t> && passes<void*, weir::AllocationPtr> && passes<const void*, const int*>);
  static_assert(!passes<float*, weir::Buffer<int>> && !passes<float*, weir::Span<const float>> &&
                !passes<float*, const float*>);
  static_assert(!passes<float*, weir::AllocationPtr> && !passes<float*, void*> && !passes<unsigned*, weir::Buffer<int>>);
}

TEST_CASE("typed kernels: enumerations and classes convert as they do by themselves") {
  enum Old : unsigned { some };
  enum class New { thing };
  struct Half {
    Half() = default;
    Half(float) {}
    unsigned short bits = 0;
  };
  static_assert(passes<int, Old> && passes<unsigned, Old> && passes<Old, Old> && !passes<short, Old> && !passes<float, Old>);
  static_assert(passes<New, New> && !passes<int, New> && !passes<New, int>);
  static_assert(passes<Half, Half> && passes<Half, float> && !passes<Half, weir::Buffer<float>>);
  KernelParameter<Half> half(1.5F);
  CHECK(half.address() != nullptr);
}

TEST_CASE("kernel arguments: which are floating-point numbers, which are not, and which are neither") {
  struct Pair {
    float a, b;
  };
  struct Address {
    void* p;
  };
  enum Choice { some };
  using Kind = weir::ParameterKind;
  const std::span<const weir::Parameter> parameters =
      weir::detail::parameters_of<int, float, Pair, double*, double, std::nullptr_t, Address, Choice>;
  const Kind kinds[] = {Kind::integer,  Kind::floating, Kind::value,   Kind::address,
                        Kind::floating, Kind::address,  Kind::unknown, Kind::integer};
  const std::uint32_t sizes[] = {4, 4, 8, 8, 8, 8, 8, 4};
  REQUIRE(parameters.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) CHECK((parameters[i].kind == kinds[i] && parameters[i].size == sizes[i]));
  using weir::detail::contradict;
  static_assert(contradict(Kind::floating, Kind::integer) && contradict(Kind::address, Kind::floating));
  static_assert(!contradict(Kind::floating, Kind::floating) && !contradict(Kind::integer, Kind::address));
  for (const Kind other : kinds) CHECK((!contradict(other, Kind::unknown) && !contradict(Kind::value, other)));
  static_assert(weir::detail::parameters_of<>.empty());
}
