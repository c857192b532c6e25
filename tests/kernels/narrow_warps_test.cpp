// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/kernels/corpus.hpp"

/// Tests kernels for warps of 32 threads.
namespace weir::test::narrow_warps_test {
namespace {

const ModulePtr& module() { return corpus("narrow_warps"); }

TEST_CASE("layer norm, a warp of 32 a row, with rows that return early") {
  constexpr int rows = 10, columns = 100;
  const auto in = random_floats(rows * columns, 11), gamma = random_floats(columns, 12), beta = random_floats(columns, 13);
  const auto out = upload(std::vector<float>(in.size()));
  launch(module()->untyped_kernel("layer_norm"), {.grid = {3}, .block = {32, 4}}, upload(in), upload(gamma), upload(beta),
         out, rows, columns);
  std::vector<double> expected;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, squares = 0;
    const auto at = [&](int c) { return static_cast<double>(in[static_cast<std::size_t>(r * columns + c)]); };
    for (int c = 0; c < columns; ++c) mean += at(c) / columns;
    for (int c = 0; c < columns; ++c) squares += at(c) * at(c) / columns;
    const double scale = 1 / std::sqrt(squares - mean * mean + 1e-5);
    for (int c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      expected.push_back((at(c) - mean) * scale * static_cast<double>(gamma[i]) + static_cast<double>(beta[i]));
    }
  }
  CHECK(difference(download(out), expected) < 1e-4);
}

}  // namespace
}  // namespace weir::test::narrow_warps_test
