// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests classes with functions in which threads synchronize.
namespace weir::test::blocks_test {
namespace {

constexpr std::size_t block = 128, items = 4;

const ModulePtr& module() { return corpus("blocks"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("blocks: sums by an object for each thread, of one number and of an array") {
  const auto in = random_floats(3 * block * items, 1);
  const auto out = upload(std::vector<float>(6));
  launch(module()->untyped_kernel("k_block_sum"), {3, block}, upload(in), out);
  std::vector<double> expected;
  for (std::size_t b = 0; b < 3; ++b) {
    double all = 0, first = 0;
    for (std::size_t i = 0; i < block * items; ++i) {
      all += in[b * block * items + i];
      if (i % items == 0) first += in[b * block * items + i];
    }
    expected.insert(expected.end(), {all, first});
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("blocks: a scan that changes its argument, and what its object counts") {
  const auto in = random_ints(block, 2, 0, 50);
  const auto out = upload(std::vector<int>(2 * block)), info = upload(std::vector<int>(block));
  launch(module()->untyped_kernel("k_block_scan"), {1, block}, upload(in), out, info);
  const int total = std::accumulate(in.begin(), in.end(), 0);
  int sum = 0;
  for (std::size_t t = 0; t < block; ++t) {
    CHECK(out.data()[block + t] == sum);
    sum += in[t];
    CHECK(out.data()[t] == sum);
    CHECK(info.data()[t] == 10000 * total + 100 + 10 + 2);
  }
}

TEST_CASE("blocks: arrays by reference through shared memory") {
  const auto in = random_ints(block * items, 3, -1000, 1000);
  const auto out = upload(std::vector<int>(block * items));
  launch(module()->untyped_kernel("k_block_exchange"), {1, block}, upload(in), out);
  CHECK(download(out) == in);
}

TEST_CASE("blocks: functions without an object, and members of a base") {
  const auto in = random_floats(block, 4);
  const auto out = upload(std::vector<int>(block));
  launch(module()->untyped_kernel("k_block_votes"), {1, block}, upload(in), out);
  const auto count = static_cast<int>(std::count_if(in.begin(), in.end(), [](float v) { return v > 0.25F; }));
  for (int t = 0; t < static_cast<int>(block); ++t) CHECK(out.data()[t] == 264000000 + 1000 * count + t / 32 * 32 + 31);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::blocks_test
