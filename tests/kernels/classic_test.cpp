// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numbers>

#include "tests/kernels/corpus.hpp"

/// Tests kernels that the CUDA samples have had for a long time, because people learn from them and port them.
namespace weir::test::classic_test {
namespace {

const ModulePtr& module() { return corpus("classic"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("classic: the cosine transform of 8 x 8, in place by rows and columns") {
  constexpr int width = 64, height = 32;
  const auto image = random_floats(width * height, 7);
  const auto out = upload(std::vector<float>(image.size()));
  launch(module()->untyped_kernel("CUDAkernel2DCT"), {.grid = {width / 32, height / 16}, .block = {8, 4, 2}}, out,
         upload(image), width);
  std::vector<double> expected(image.size());
  const auto basis = [](int u, int x) {
    return (u == 0 ? std::sqrt(0.125) : 0.5) * std::cos((2 * x + 1) * u * std::numbers::pi / 16);
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      for (int j = 0; j < 8; ++j) {
        for (int i = 0; i < 8; ++i)
          sum += basis(x % 8, i) * basis(y % 8, j) *
                 at(image, static_cast<std::size_t>((y / 8 * 8 + j) * width + x / 8 * 8 + i));
      }
      expected[static_cast<std::size_t>(y * width + x)] = sum;
    }
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("classic: Sobol's numbers") {
  constexpr std::size_t n = 3000, dimensions = 3;
  std::vector<std::uint32_t> directions(32 * dimensions);
  const auto some = random_ints(directions.size(), 8, 0, (1 << 30) - 1);
  for (std::size_t d = 0; d < dimensions; ++d) {
    for (std::size_t k = 0; k < 32; ++k) {
      const std::uint32_t odd = d == 0 ? 1 : (static_cast<std::uint32_t>(some[d * 32 + k]) % (1U << k)) | 1U;
      directions[d * 32 + k] = odd << (31 - k);
    }
  }
  const auto out = upload(std::vector<float>(n * dimensions));
  launch(module()->untyped_kernel("sobolGPU_kernel"), {.grid = {4, dimensions}, .block = {64}}, static_cast<unsigned>(n),
         static_cast<unsigned>(dimensions), upload(directions), out);
  std::vector<double> expected(n * dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t gray = i ^ (i >> 1U);
      std::uint32_t x = 0;
      for (std::size_t k = 0; k < 32; ++k) x ^= (gray >> k & 1U) != 0 ? directions[d * 32 + k] : 0;
      expected[d * n + i] = static_cast<double>(x) / 4294967296.0;
    }
  }
  CHECK(difference(download(out), expected) < 1e-6);
}

TEST_CASE("classic: Haar wavelets over all levels of a block") {
  constexpr unsigned blocks = 2, threads = 64, n = blocks * threads * 2, levels = 7;
  const auto in = random_floats(n, 13);
  const auto out = upload(std::vector<float>(n)), top = upload(std::vector<float>(blocks));
  launch(module()->untyped_kernel("dwtHaar1D"),
         {.grid = {blocks}, .block = {threads}, .shared_memory_bytes = 4 * (threads * 2 + 32)}, upload(in), out, top, levels,
         n / 2, static_cast<int>(threads));
  std::vector<double> expected(n), signal(in.begin(), in.end());
  for (std::size_t size = n; size > blocks; size /= 2) {
    std::vector<double> next(size / 2);
    for (std::size_t i = 0; i < size / 2; ++i) {
      next[i] = (signal[2 * i] + signal[2 * i + 1]) * std::numbers::sqrt2 / 2;
      expected[size / 2 + i] = (signal[2 * i] - signal[2 * i + 1]) * std::numbers::sqrt2 / 2;
    }
    signal = next;
  }
  auto given = download(out);
  for (std::size_t i = 0; i < blocks; ++i) given[i] = top.data()[i], expected[i] = signal[i];
  CHECK(difference(given, expected) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::classic_test
