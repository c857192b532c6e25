// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests functions in which threads synchronize.
namespace weir::test::functions_test {
namespace {

const ModulePtr& module() { return corpus("functions"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("functions: overloads in which threads meet, and a result told by auto") {
  const auto in = random_floats(3 * 64, 1);
  const auto out = upload(std::vector<float>(3 * 4));
  launch(module()->untyped_kernel("k_overloads"), {3, 64}, upload(in), out);
  std::vector<double> expected;
  for (std::size_t b = 0; b < 3; ++b) {
    double sum = 0, squares = 0, positive = 0;
    for (std::size_t i = b * 64; i < b * 64 + 64; ++i) {
      sum += in[i];
      squares += static_cast<double>(in[i]) * in[i];
      positive += in[i] > 0;
    }
    for (const double value : {sum, squares, positive, sum / 64}) expected.push_back(value);
  }
  CHECK(difference(download(out), expected) < 1e-6);
}

TEST_CASE("functions: lambdas that are handed to a function in which threads meet") {
  constexpr std::size_t n = 300;
  const auto in = random_floats(2 * n, 2);
  const auto out = upload(std::vector<float>(2 * 64));
  launch(module()->untyped_kernel("k_lambdas"), {2, 64}, upload(in), out, static_cast<int>(n));
  std::vector<double> expected;
  for (std::size_t b = 0; b < 2; ++b) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(2.0 * in[b * n + i]);
    expected.insert(expected.end(), 64, std::log(sum));
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("functions: arrays of arrays and structs of shared memory as parameters") {
  constexpr std::size_t width = 24, height = 16;
  const auto in = random_floats(width * height, 3);
  const auto out = upload(std::vector<float>(width * height));
  launch(module()->untyped_kernel("k_tiles"), {{3, 2}, {8, 8}}, upload(in), out, static_cast<int>(width));
  std::vector<double> expected(width * height);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t row = i / width / 8 * 8, column = i % width / 8 * 8;
    for (std::size_t k = 0; k < 8; ++k) expected[i] += 2.0 * in[(row + k) * width + column + k];
    expected[i] += 2.0 * static_cast<double>(i % 8);
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("functions: a reference to something constant shows what other threads write there") {
  const auto in = random_ints(64, 4, 0, 500);
  const auto out = upload(std::vector<int>(64));
  launch(module()->untyped_kernel("k_late"), {1, 64}, upload(in), out);
  for (int t = 0; t < 64; ++t) CHECK(out.data()[t] == in[static_cast<std::size_t>((t + 13) % 64)] + t + 8000);
}

TEST_CASE("functions: cases that fall through to a barrier") {
  const auto in = random_ints(512, 5, -100, 100);
  for (const std::size_t n : {std::size_t{256}, std::size_t{64}}) {
    const auto out = upload(std::vector<int>(2 * 32));
    launch(module()->untyped_kernel("fold_blocks<" + std::to_string(n) + ">"), {2, static_cast<unsigned>(n)}, upload(in),
           out);
    for (std::size_t b = 0; b < 2; ++b) {
      CHECK(std::accumulate(out.data() + b * 32, out.data() + b * 32 + 32, 0) ==
            std::accumulate(in.data() + b * n, in.data() + b * n + n, 0));
    }
  }
}

TEST_CASE("functions: what a thread keeps across barriers") {
  const auto in = random_ints(64, 6, 0, 100);
  const auto out = upload(std::vector<int>(64));
  launch(module()->untyped_kernel("k_locals"), {1, 64}, upload(in), out);
  std::array<std::array<int, 4>, 64> counts{};
  std::array<int, 64> s{};
  for (std::size_t t = 0; t < 64; ++t) {
    counts[t] = {0, 1, 2, 0};
    counts[t][t & 3U] += in[63 - t];
    counts[t][(t + 1) & 3U] *= 2;
    s[t] = counts[t][static_cast<std::size_t>(in[t]) & 3U] + static_cast<int>(t);
  }
  for (std::size_t t = 0; t < 64; ++t) {
    const int sum = std::accumulate(counts[t].begin(), counts[t].end(), 0);
    CHECK(std::abs(out.data()[t] - (s[(t + 7) % 64] + sum + static_cast<int>(t) + 6)) <= 1);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::functions_test
