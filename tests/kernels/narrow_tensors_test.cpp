// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests further kernels in the style of PyTorch and llama.cpp, for warps of 32 threads.
namespace weir::test::narrow_tensors_test {
namespace {

const ModulePtr& module() { return corpus("narrow_tensors"); }

bool skipped() {
  if (warp_size() == 32) return false;
  MESSAGE("skipped: these kernels are written for warps of 32 threads");
  return true;
}

TEST_CASE("tensors: mean and deviation of rows by Welford's way") {
  if (skipped()) return;
  constexpr std::size_t n = 777, rows = 4;
  const auto x = random_floats(n * rows, 2, 5, 7);
  const auto out = upload(std::vector<float>(2 * rows));
  launch(module()->untyped_kernel("std_var_rows"), {.grid = {rows}, .block = {128}}, upload(x), out, static_cast<int>(n),
         1.0F, true);
  std::vector<double> expected;
  for (std::size_t r = 0; r < rows; ++r) {
    double mean = 0, sum = 0;
    for (std::size_t i = 0; i < n; ++i) mean += static_cast<double>(x[r * n + i]) / n;
    for (std::size_t i = 0; i < n; ++i) sum += std::pow(static_cast<double>(x[r * n + i]) - mean, 2);
    expected.insert(expected.end(), {std::sqrt(sum / (n - 1)), mean});
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("tensors: a lambda over vectors of four, and a block with less") {
  if (skipped()) return;
  constexpr int n = 2 * 512 + 300;
  const auto a = random_floats(n, 3), b = random_floats(n, 4);
  const auto out = upload(std::vector<float>(n));
  launch(module()->untyped_kernel("add_alpha"), {.grid = {3}, .block = {64}}, upload(a), upload(b), out, n, 0.5F);
  std::vector<double> expected;
  for (std::size_t i = 0; i < n; ++i) expected.push_back(static_cast<double>(a[i]) + 0.5 * static_cast<double>(b[i]));
  CHECK(difference(download(out), expected) < 1e-6);
}

TEST_CASE("tensors: a scan by shuffles, and the rows of an integral image") {
  if (skipped()) return;
  const auto in = random_ints(512, 5, 0, 1000);
  const auto data = upload(in), sums = upload(std::vector<int>(2));
  launch(module()->untyped_kernel("shfl_scan_test"), {.grid = {2}, .block = {256}, .shared_memory_bytes = 32}, data, 32,
         sums);
  std::vector<int> expected(512);
  for (std::size_t i = 0; i < 512; ++i) expected[i] = in[i] + (i % 256 == 0 ? 0 : expected[i - 1]);
  CHECK(download(data) == expected);
  CHECK(sums.data()[1] == expected[511]);

  const auto bytes = random_ints(2 * 512, 6, 0, 255);
  const std::vector<std::uint8_t> image(bytes.begin(), bytes.end());
  const auto out = upload(std::vector<std::uint32_t>(2 * 512));
  launch(module()->untyped_kernel("shfl_intimage_rows"), {.grid = {2}, .block = {32}}, upload(image), out);
  std::vector<std::uint32_t> rows(2 * 512);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = image[i] + (i % 512 == 0 ? 0 : rows[i - 1]);
  CHECK(download(out) == rows);
}

// Numbers from -8 to 7 with a scale: 16 bytes of two each, behind a half. The scales are powers of two.
std::vector<std::uint8_t> quantized(std::size_t blocks, unsigned seed, bool bytes, std::vector<double>& values) {
  std::vector<std::uint8_t> data;
  const auto random = random_ints(blocks * 33, seed, 0, 255);
  for (std::size_t b = 0; b < blocks; ++b) {
    const int exponent = random[b * 33] % 5 - 2;
    const auto bits = static_cast<std::uint16_t>((15 + exponent) << 10);
    data.push_back(static_cast<std::uint8_t>(bits & 255));
    data.push_back(static_cast<std::uint8_t>(bits >> 8));
    std::vector<double> block(32);
    for (std::size_t i = 0; i < (bytes ? 32U : 16U); ++i) {
      const int q = random[b * 33 + 1 + i];
      data.push_back(static_cast<std::uint8_t>(q));
      if (bytes) {
        block[i] = std::ldexp(static_cast<std::int8_t>(q), exponent);
      } else {
        block[i] = std::ldexp((q & 15) - 8, exponent);
        block[i + 16] = std::ldexp((q >> 4) - 8, exponent);
      }
    }
    values.insert(values.end(), block.begin(), block.end());
  }
  return data;
}

TEST_CASE("tensors: weights of 4 and of 8 bits made numbers by a function that a template is given") {
  if (skipped()) return;
  constexpr int n = 1024;
  std::vector<double> four, eight;
  const auto q4 = quantized(n / 32, 7, false, four), q8 = quantized(n / 32, 8, true, eight);
  const auto halves = upload(std::vector<std::uint16_t>(n));
  const auto floats = upload(std::vector<float>(n));
  launch(module()->untyped_kernel("dequantize_row_q4_0"), {.grid = {8}, .block = {128}}, upload(q4), halves, n);
  launch(module()->untyped_kernel("dequantize_row_q8_0"), {.grid = {8}, .block = {128}}, upload(q8), floats, n);
  std::vector<double> given;
  for (const std::uint16_t h : download(halves)) given.push_back(of_half(h));
  CHECK(given == four);
  const auto bytes = download(floats);
  CHECK(std::equal(bytes.begin(), bytes.end(), eight.begin(), eight.end()));
}

}  // namespace
}  // namespace weir::test::narrow_tensors_test
