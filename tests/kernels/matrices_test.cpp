// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/corpus.hpp"

/// Tests matrices in tiles of shared memory: products, transposition, sparse rows.
namespace weir::test::matrices_test {
namespace {

const ModulePtr& module() { return corpus("matrices"); }

std::vector<double> product(const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
                            std::size_t k) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
    }
  }
  return c;
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("products in tiles of shared memory") {
  constexpr int m = 50, n = 37, k = 70;
  const auto a = random_floats(m * k, 1), b = random_floats(k * n, 2);
  const auto c = upload(std::vector<float>(m * n));
  launch(module()->untyped_kernel("product_tiled"), {.grid = {3, 4}, .block = {16, 16}}, upload(a), upload(b), c, m, n, k);
  CHECK(difference(download(c), product(a, b, m, n, k)) < 1e-5);
}

TEST_CASE("transposition with padding") {
  constexpr int width = 100, height = 70;
  const auto in = random_floats(width * height, 5);
  const auto out = upload(std::vector<float>(in.size()));
  launch(module()->untyped_kernel("transpose"), {.grid = {4, 3}, .block = {32, 8}}, upload(in), out, width, height);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) REQUIRE(out.data()[x * height + y] == in[y * width + x]);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::matrices_test
