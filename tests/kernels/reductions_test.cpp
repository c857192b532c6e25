// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests reductions: sums, extremes, dot products, softmax, layer norm.
namespace weir::test::reductions_test {
namespace {

const ModulePtr& module() { return corpus("reductions"); }

double sum_of(const std::vector<float>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("sums of a block, by shared memory") {
  for (const unsigned block : {1U, 2U, 32U, 128U, 1024U}) {
    const auto in = random_floats(3000, block);
    const LaunchConfig config = grid_for(in.size(), block);
    const auto x = upload(in);
    const auto out = upload(std::vector<float>(config.grid.x));
    launch(module()->untyped_kernel("sum_halving"),
           {.grid = config.grid, .block = {block}, .shared_memory_bytes = block * 4U}, x, out, 3000);
    std::vector<double> expected(config.grid.x);
    for (std::size_t i = 0; i < in.size(); ++i) expected[i / block] += static_cast<double>(in[i]);
    CHECK(difference(download(out), expected) < 1e-5);
  }
}

TEST_CASE("sums of a block, by shuffles, and by functions that call each other") {
  for (const unsigned block : {64U, 128U, 256U, 1024U}) {
    const auto in = random_floats(20000, block);
    const auto out = upload(std::vector<float>(1));
    launch(module()->untyped_kernel("sum_by_warps"), {.grid = {5}, .block = {block}}, upload(in), out, 20000);
    CHECK(std::fabs(static_cast<double>(download(out)[0]) - sum_of(in)) < 1e-2);
  }
  constexpr int n = 200;
  const auto in = random_floats(3 * n, 3);
  const auto out = upload(std::vector<float>(6));
  launch(module()->untyped_kernel("mean_and_variance"), {.grid = {3}, .block = {256}}, upload(in), out, n);
  std::vector<double> expected;
  for (int b = 0; b < 3; ++b) {
    double mean = 0, variance = 0;
    for (int i = 0; i < n; ++i) mean += static_cast<double>(in[static_cast<std::size_t>(b * n + i)]) / n;
    for (int i = 0; i < n; ++i)
      variance += std::pow(static_cast<double>(in[static_cast<std::size_t>(b * n + i)]) - mean, 2) / n;
    expected.insert(expected.end(), {mean, variance});
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("the least element of a struct type, and a sum in one launch") {
  struct Least {
    float value;
    int index;
  };
  const auto in = random_floats(1000, 9);
  const auto out = upload(std::vector<Least>(1));
  launch(module()->untyped_kernel("arg_min"), {.grid = {1}, .block = {64}}, upload(in), out, 1000);
  const auto least = std::min_element(in.begin(), in.end());
  CHECK(out.data()[0].value == *least);
  CHECK(out.data()[0].index == least - in.begin());

  const auto parts = upload(std::vector<float>(16));
  const auto sum = upload(std::vector<float>(1));
  for (int round = 0; round < 3; ++round) {
    launch(module()->untyped_kernel("sum_in_one_launch"), {.grid = {16}, .block = {64}}, upload(in), parts, sum, 1000);
    CHECK(std::fabs(static_cast<double>(sum.data()[0]) - sum_of(in)) < 1e-3);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::reductions_test
