// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>

#include "tests/kernels/corpus.hpp"

/// Tests blocks that can run as one wide block, and blocks that cannot.
namespace weir::test::joined_blocks_test {
namespace {

constexpr int size = 4096, before = 100;

std::vector<int> written(const std::string& name, const LaunchConfig& shape, int n, int width = 1, unsigned base = 0) {
  const auto out = upload(std::vector<int>(size, before));
  launch(corpus("joined")->untyped_kernel(name), shape, out.data(), n, width, base);
  return download(out);
}

// What element `i` should have gained, for a launch that reaches the first `n`.
void check(const std::string& name, const LaunchConfig& shape, int n, const std::function<int(int)>& gain, int width = 1,
           unsigned base = 0) {
  CAPTURE(name);
  CAPTURE(shape.grid.x);
  CAPTURE(shape.block.x);
  CAPTURE(n);
  std::vector<int> expected(size, before);
  for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] += gain(i);
  CHECK(written(name, shape, n, width, base) == expected);
}

int of_index(int i) { return 3 * i + 1; }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("joined blocks: a row of blocks gives what each block alone would") {
  for (const unsigned block : {1U, 7U, 32U, 100U, 256U}) {
    for (const unsigned grid : {1U, 2U, 5U, 16U}) {
      const LaunchConfig shape{.grid = {grid}, .block = {block}};
      const int all = static_cast<int>(grid * block);
      for (const int n : {0, 1, all / 2 + 1, all - 1, all}) {
        if (n < 0) continue;
        for (const char* name : {"k_signed", "k_unsigned", "k_wide", "k_widened_late", "k_last_first"})
          check(name, shape, n, of_index);
        check("k_loop", shape, n, [](int i) { return (i % 7) * (i % 7 + 1) / 2; });
        check("k_names_block", shape, n, [&](int i) { return i / static_cast<int>(block) + 1; });
        check("k_names_thread", shape, n, [&](int i) { return i % static_cast<int>(block) + 1; });
        check("k_own_array", shape, n, [&](int i) { return ((3 - i) & 7) * i; }, 3);
        check("k_shares", shape, n, [](int) { return 5; });
        std::vector<int> sums(size, before);
        for (int i = 0; i < n; ++i) sums[static_cast<std::size_t>(i % 5)] += i;
        CHECK(written("k_adds", shape, n) == sums);
      }
      check("k_waits", shape, all, [&](int) { return static_cast<int>(block); });
    }
  }
}

TEST_CASE("joined blocks: loops in which the whole grid strides") {
  for (const unsigned block : {1U, 7U, 32U, 100U, 256U}) {
    for (const unsigned grid : {1U, 2U, 5U, 16U}) {
      const LaunchConfig shape{.grid = {grid}, .block = {block}};
      const int all = static_cast<int>(grid * block);
      for (const int n : {0, 1, all - 1, all, all + 1, 2 * all + all / 2, 7 * all - 3, size}) {
        if (n < 0 || n > size) continue;
        for (const char* name : {"k_strided", "k_strided_wide", "k_strided_twice"}) check(name, shape, n, of_index);
        check("k_strided_shares", shape, n, [](int) { return 7; });
        check("k_strided_keeps", shape, n, [&](int i) {
          const int turns = i < all ? (n - 1 - i) / all + 1 : 0;
          return 3 * i + i / all + 1 + (turns > 1 ? 5 * turns : 0);
        }, 5);
      }
    }
  }
}

// The last threads of the row would compute indices that wrap, although no thread of the program does.
TEST_CASE("strided loops: a bound near the greatest integer, and a step that is smaller than the block") {
  constexpr int first = 2147482830, bound = 2147483607;
  std::vector<int> expected(size, before);
  std::fill_n(expected.begin(), bound - first, before + 1);
  const LaunchConfig shape{.grid = {1}, .block = {256}};
  CHECK(written("k_strided_to_top", shape, bound, 16, static_cast<unsigned>(first)) == expected);
}

// Threads without an iteration keep their own initial value of each variable.
TEST_CASE("strided loops: two variables that every iteration makes equal") {
  for (const int n : {1, 6, 7, 31, 100}) {
    for (const bool is_first : {true, false}) {
      std::vector<int> expected(size, before);
      for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = i < 32 ? 1 : 4 * before;
      for (int thread = n; thread < 32; ++thread) expected[static_cast<std::size_t>(n + thread)] = is_first ? 0 : 1;
      CAPTURE(n);
      const char* const name = is_first ? "k_strided_first_value" : "k_strided_other_value";
      CHECK(written(name, {.grid = {1}, .block = {32}}, n) == expected);
    }
  }
}

TEST_CASE("joined blocks: rows of several lines, whose ends do not meet the blocks' ends") {
  for (const int width : {1, 31, 64, 75}) {
    const auto columns = static_cast<unsigned>((width + 15) / 16);
    check("k_plane", {.grid = {columns, 5}, .block = {16, 4}}, 20 * width, of_index, width);
    check("k_plane", {.grid = {columns, 5}, .block = {16, 4}}, 20 * width - 7, of_index, width);
    check("k_volume", {.grid = {columns, 2, 3}, .block = {16, 4, 2}}, 48 * width, of_index, width);
  }
}

TEST_CASE("joined blocks: an index that wraps around within a row") {
  for (const unsigned distance : {0U, 1U, 100U, 511U, 512U, 900U, 2000U}) {
    const LaunchConfig shape{.grid = {8}, .block = {128}};
    // From here on indices are negative, and below n. Those before are above it.
    const int first = static_cast<int>(std::min(distance, 1024U));
    std::vector<int> expected(size, before);
    for (int i = first; i < 1024; ++i) expected[static_cast<std::size_t>(i)] += of_index(i);
    CAPTURE(distance);
    CHECK(written("k_wraps", shape, 1024, 1, 0x80000000U - distance) == expected);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::joined_blocks_test
