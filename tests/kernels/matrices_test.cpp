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

TEST_CASE("products in tiles of registers, by a template") {
  constexpr int size = 64;
  const auto a = random_floats(size * size, 3), b = random_floats(size * size, 4);
  const auto c = upload(std::vector<float>(size * size));
  launch(module()->untyped_kernel("product_registers"), {.grid = {2, 2}, .block = {64}}, upload(a), upload(b), c, size,
         size);
  CHECK(difference(download(c), product(a, b, size, size, size)) < 1e-5);
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

TEST_CASE("a sparse matrix times a vector, a warp a row") {
  constexpr int rows = 37;
  const auto lengths = random_ints(rows, 6, 0, 200);
  std::vector<int> begin{0};
  for (const int length : lengths) begin.push_back(begin.back() + length);
  const auto count = static_cast<std::size_t>(begin.back());
  const auto columns = random_ints(count, 7, 0, 99);
  const auto values = random_floats(count, 8), x = random_floats(100, 9);
  const auto y = upload(std::vector<float>(rows));
  launch(module()->untyped_kernel("sparse_by_warps"), {.grid = {(rows * warp_size() + 127) / 128}, .block = {128}},
         upload(begin), upload(columns), upload(values), upload(x), y, rows);
  std::vector<double> expected(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    for (auto j = static_cast<std::size_t>(begin[r]); j < static_cast<std::size_t>(begin[r + 1]); ++j) {
      expected[r] += static_cast<double>(values[j]) * static_cast<double>(x[static_cast<std::size_t>(columns[j])]);
    }
  }
  CHECK(difference(download(y), expected) < 1e-5);
}

TEST_CASE("a matrix times a vector, by atomics on shared floats") {
  constexpr int rows = 13, columns = 57;
  const auto a = random_floats(rows * columns, 10), x = random_floats(columns, 11);
  const auto y = upload(std::vector<float>(rows));
  launch(module()->untyped_kernel("matrix_vector"), {.grid = {1}, .block = {96}, .shared_memory_bytes = rows * 4U},
         upload(a), upload(x), y, rows, columns);
  CHECK(difference(download(y), product(a, x, rows, 1, columns)) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::matrices_test
