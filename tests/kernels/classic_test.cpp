// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numbers>

#include "tests/kernels/corpus.hpp"

/// Tests kernels that the CUDA samples have had for a long time, because people learn from them and port them.
namespace weir::test::classic_test {
namespace {

const ModulePtr& module() { return corpus("classic"); }
std::vector<std::uint32_t> random_words(std::size_t count, unsigned seed, int greatest) {
  const auto ints = random_ints(count, seed, 0, greatest);
  return {ints.begin(), ints.end()};
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("classic: a reduction by a template whose shared memory comes from a class") {
  const auto ints = random_ints(1000, 1, -50, 50);
  const auto floats = random_floats(4096, 2);
  const std::vector<double> doubles(floats.begin(), floats.end());
  const auto sums = upload(std::vector<int>(4));
  launch(module()->untyped_kernel("reduce5<int, 128, false>"), {.grid = {4}, .block = {128}, .shared_memory_bytes = 512},
         upload(ints), sums, 1000U);
  for (std::size_t b = 0; b < 4; ++b) {
    int expected = 0;
    for (std::size_t i = b * 256; i < std::min<std::size_t>(1000, b * 256 + 256); ++i) expected += ints[i];
    CHECK(sums.data()[b] == expected);
  }
  const auto totals = upload(std::vector<double>(8));
  launch(module()->untyped_kernel("reduce5<double, 256, true>"), {.grid = {8}, .block = {256}, .shared_memory_bytes = 2048},
         upload(doubles), totals, 4096U);
  std::vector<double> expected(8);
  for (std::size_t i = 0; i < 4096; ++i) expected[i / 512] += doubles[i];
  CHECK(difference(download(totals), expected) < 1e-12);
}

TEST_CASE("classic: a merge sort of pairs") {
  const auto keys = random_words(1024, 5, 300), values = random_words(1024, 6, 1 << 30);
  const auto key = upload(std::vector<std::uint32_t>(1024)), value = upload(std::vector<std::uint32_t>(1024));
  launch(module()->untyped_kernel("mergeSortSharedKernel<1U>"), {.grid = {4}, .block = {128}}, key, value, upload(keys),
         upload(values), 256U);
  for (std::size_t b = 0; b < 4; ++b) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> expected, given;
    for (std::size_t i = b * 256; i < b * 256 + 256; ++i) {
      expected.emplace_back(keys[i], values[i]);
      given.emplace_back(key.data()[i], value.data()[i]);
    }
    std::stable_sort(expected.begin(), expected.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    CHECK(given == expected);
  }
}

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
