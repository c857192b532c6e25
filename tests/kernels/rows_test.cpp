// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>

#include "tests/kernels/corpus.hpp"

/// Tests conditions that hold for a part of a row of threads, and indices that wrap around.
namespace weir::test::rows_test {
namespace {

constexpr int middle = 2048, size = 4 * middle;

struct Numbers {
  int n;
  unsigned base;
  unsigned long long wide;
  float f;
};

// What a kernel writes; numbers below zero are indices, too.
std::vector<int> written(const std::string& name, const LaunchConfig& shape, const Numbers& numbers) {
  const auto out = upload(std::vector<int>(size, -77));
  const auto flags = upload(std::vector<unsigned char>{1, 0});
  launch(corpus("rows")->untyped_kernel(name), shape, out.data() + middle, numbers.n, numbers.base, numbers.wide, numbers.f,
         flags.data());
  return download(out);
}

void check_twins(const std::string& name, const LaunchConfig& shape, const std::vector<Numbers>& all) {
  CAPTURE(name);
  for (const Numbers& numbers : all) {
    CAPTURE(numbers.n);
    CAPTURE(numbers.base);
    CAPTURE(numbers.wide);
    CAPTURE(numbers.f);
    CHECK(written(name, shape, numbers) == written(name + "_twin", shape, numbers));
  }
}

constexpr int greatest = std::numeric_limits<int>::max();
constexpr unsigned long long top = std::numeric_limits<unsigned long long>::max();
const float none = std::numeric_limits<float>::quiet_NaN();

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("rows: conditions of two sides, at the ends of what numbers can be") {
  const std::vector<Numbers> all = {{30, 0, 0, 4.5F},
                                    {0, 10, top - 3, none},
                                    {1, 0U - 8, top - 8, 0.5F},
                                    {2, 0U - 40, 1, -3.0F},
                                    {-1, 0x7fffffffU - 9, top / 2 - 9, 1e30F},
                                    {greatest - 2, 0x80000000U, top / 2 + 1, 20.0F},
                                    {-greatest, 0xffffffffU, top, none},
                                    {greatest, 3, 0, 1.0F},
                                    {1000, 0U - 1, 40, 7.0F}};
  for (const std::string name :
       {"k_two_sides",      "k_two_sides_unsigned", "k_mixed_types", "k_mixed_below", "k_base",   "k_base_signed",
        "k_base_long",      "k_base_wide",          "k_widened",     "k_before",      "k_beyond", "k_fractions",
        "k_other_way",      "k_in_order",           "k_narrow",      "k_one_side",    "k_even",   "k_far",
        "k_fractional_sum", "k_shared_rows"}) {
    check_twins(name, {.grid = {1}, .block = {64}}, all);
  }
  const std::vector<Numbers> some = {{30, 0, 0, 1}, {0, 1, 0, 1}, {1, 0U - 3, 2, 1}, {9, 5, 2, 1}, {-4, 6, 2, 1}};
  for (const std::string name : {"k_two_sides", "k_offsets", "k_other_way", "k_down", "k_returns", "k_shared_rows"}) {
    check_twins(name, {.grid = {3}, .block = {16, 4, 2}}, some);
    check_twins(name, {.grid = {2}, .block = {1, 3, 5}}, some);
    check_twins(name, {.grid = {2}, .block = {1000}}, some);
  }
}

TEST_CASE("rows: each form of a guard, at the ends of what numbers can be") {
  std::vector<Numbers> all;
  for (const int n :
       {0, 1, 2, 5, 27, 30, 31, 32, 33, 64, 1000, -1, -3, -31, greatest, greatest - 1, -greatest, -greatest - 1}) {
    for (const unsigned base : {0U, 3U, 10U, 0U - 5, 0U - 40, 0x7fffffffU - 9, 0x80000000U, 0x80000000U - 20})
      all.push_back({n, base, base < 20 ? base : n < 0 ? top - 6 : std::uint64_t{1} << 32U, 1});
  }
  for (const std::string name :
       {"k_and_row",       "k_or_row",       "k_four_bounds", "k_four_unsigned", "k_from_zero", "k_only_row",
        "k_equal",         "k_not_equal",    "k_equal_wraps", "k_last",          "k_at_most",   "k_greater",
        "k_at_least",      "k_at_most_wide", "k_minus",       "k_minus_base",    "k_size",      "k_size_from",
        "k_size_signed",   "k_size_sum",     "k_never",       "k_empty",         "k_flag_and",  "k_row_or",
        "k_row_or_bounds", "k_shift",        "k_quotient",    "k_least",         "k_nested",    "k_restrict"}) {
    check_twins(name, {.grid = {2}, .block = {32, 5}}, all);
    check_twins(name, {.grid = {1}, .block = {13, 3, 2}}, {all[0], all[8], all[33], all[50]});
  }
}

TEST_CASE("rows: indices that wrap around in the middle of a row") {
  std::vector<Numbers> all;
  for (const unsigned before : {0U, 1U, 2U, 3U, 8U, 9U, 10U, 100U, 500U, 1023U}) all.push_back({5, 0U - before, 0, 1});
  all.push_back({5, 20, 0, 1});
  for (const std::string name : {"k_index_wraps", "k_indices_wrap", "k_fraction_in_index", "k_stride_wraps"}) {
    check_twins(name, {.grid = {1}, .block = {1024}}, all);
    check_twins(name, {.grid = {1}, .block = {64}}, all);
  }
  // The first element that is written is the one behind the wrap.
  const std::vector<int> out = written("k_index_wraps", {.grid = {1}, .block = {64}}, {5, 0U - 8, 0, 1});
  for (int i = 0; i < 56; ++i) CHECK(out[static_cast<std::size_t>(middle + i)] == i + 9);
  CHECK(out[middle - 1] == -77);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::rows_test
