// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/corpus.hpp"

/// Tests sorting and alignment: sorting networks, the k greatest elements, dynamic programming along a wavefront.
namespace weir::test::sorting_test {
namespace {

const ModulePtr& module() { return corpus("sorting"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a bitonic sort, block by block") {
  for (const unsigned block : {2U, 64U, 512U}) {
    auto in = random_ints(3 * block, block, -1000, 1000);
    const auto x = upload(in);
    launch(module()->untyped_kernel("bitonic"), {.grid = {3}, .block = {block}, .shared_memory_bytes = block * 4U}, x);
    for (std::size_t b = 0; b < 3; ++b)
      std::sort(in.begin() + static_cast<long>(b * block), in.begin() + static_cast<long>((b + 1) * block));
    CHECK(download(x) == in);
  }
}

TEST_CASE("a sort that a vote of the block ends") {
  auto in = random_ints(100, 1, -50, 50);
  const auto x = upload(in);
  const auto rounds = upload(std::vector<int>(1));
  launch(module()->untyped_kernel("odd_even"), {.grid = {1}, .block = {100}}, x, rounds);
  std::sort(in.begin(), in.end());
  CHECK(download(x) == in);
  CHECK(rounds.data()[0] > 1);
  CHECK(rounds.data()[0] <= 51);
}

TEST_CASE("the greatest four") {
  auto in = random_floats(1000, 2);
  const auto out = upload(std::vector<float>(4));
  launch(module()->untyped_kernel("top_k"), {.grid = {1}, .block = {64}}, upload(in), out, 1000);
  std::sort(in.begin(), in.end(), std::greater<>());
  CHECK(download(out) == std::vector<float>(in.begin(), in.begin() + 4));
}

TEST_CASE("Smith and Waterman along diagonals") {
  constexpr int m = 90, n = 70;
  const auto letters = random_ints(m + n, 3, 0, 3);
  std::vector<char> a, b;
  for (int i = 0; i < m; ++i) a.push_back("ACGT"[letters[static_cast<std::size_t>(i)]]);
  for (int i = m; i < m + n; ++i) b.push_back("ACGT"[letters[static_cast<std::size_t>(i)]]);
  const auto best = upload(std::vector<int>(1));
  launch(module()->untyped_kernel("smith_waterman"), {.grid = {1}, .block = {96}, .shared_memory_bytes = 3 * (n + 1) * 4U},
         upload(a), upload(b), m, n, best);
  std::vector<std::vector<int>> table(m + 1, std::vector<int>(n + 1));
  int expected = 0;
  for (std::size_t i = 1; i <= m; ++i) {
    for (std::size_t j = 1; j <= n; ++j) {
      table[i][j] =
          std::max({0, table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 3 : -2), table[i - 1][j] - 1, table[i][j - 1] - 1});
      expected = std::max(expected, table[i][j]);
    }
  }
  CHECK(best.data()[0] == expected);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::sorting_test
