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

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::sorting_test
