// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstdint>

#include "tests/kernels/corpus.hpp"

/// Tests kernels in the style of the CUDA samples and of SHOC.
namespace weir::test::samples_test {
namespace {

const ModulePtr& module() { return corpus("samples"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("samples: a convolution of rows by a constant kernel") {
  constexpr int width = 192, height = 16;
  const auto image = random_floats(width * height, 1), kernel = random_floats(17, 2);
  const auto stream = target().create_stream();
  stream->copy(Span<float>(reinterpret_cast<float*>(module()->global("c_Kernel").data()), kernel.size()), kernel);
  stream->synchronize();
  const auto out = upload(std::vector<float>(image.size()));
  launch(module()->untyped_kernel("convolutionRowsKernel"), {.grid = {width / 64, height / 4}, .block = {16, 4}}, out,
         upload(image), width, height, width);
  std::vector<double> expected;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      for (int j = -8; j <= 8; ++j) {
        if (x + j >= 0 && x + j < width)
          sum += at(kernel, static_cast<std::size_t>(8 - j)) * at(image, static_cast<std::size_t>(y * width + x + j));
      }
      expected.push_back(sum);
    }
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("samples: a histogram of 64 bins with counters of bytes") {
  constexpr std::size_t words = 1000;
  std::vector<std::uint32_t> data(4 * words);
  const auto low = random_ints(data.size(), 3, 0, 65535), high = random_ints(data.size(), 4, 0, 65535);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::uint32_t>(low[i]) | static_cast<std::uint32_t>(high[i]) << 16U;
  const auto partial = upload(std::vector<std::uint32_t>(4 * 64));
  launch(module()->untyped_kernel("histogram64Kernel"), {.grid = {4}, .block = {64}}, partial, upload(data),
         static_cast<std::uint32_t>(words));
  std::vector<std::uint32_t> expected(64), given(64);
  for (const std::uint32_t v : data) {
    for (unsigned shift = 2; shift < 32; shift += 8) ++expected[v >> shift & 63U];
  }
  for (std::size_t i = 0; i < 256; ++i) given[i % 64] += partial.data()[i];
  CHECK(given == expected);
}

TEST_CASE("samples: a Fourier transform of 512 points") {
  const auto in = random_floats(3 * 1024, 11);
  const auto work = upload(in);
  launch(module()->untyped_kernel("FFT512_device"), {.grid = {3}, .block = {64}}, work);
  std::vector<double> expected;
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t k = 0; k < 512; ++k) {
      std::complex<double> sum;
      for (std::size_t j = 0; j < 512; ++j) {
        sum += std::complex<double>(at(in, b * 1024 + 2 * j), at(in, b * 1024 + 2 * j + 1)) *
               std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % 512) / 512);
      }
      expected.push_back(sum.real());
      expected.push_back(sum.imag());
    }
  }
  CHECK(difference(download(work), expected) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::samples_test
