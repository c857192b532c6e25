// SPDX-License-Identifier: Apache-2.0
#include <complex>
#include <cstdint>
#include <numeric>

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

TEST_CASE("samples: Walsh and Hadamard") {
  for (const int log : {8, 9}) {
    const std::size_t n = std::size_t{1} << log;
    const auto in = random_floats(2 * n, 5);
    const auto out = upload(std::vector<float>(2 * n));
    launch(module()->untyped_kernel("fwtBatch1Kernel"),
           {.grid = {2}, .block = {static_cast<unsigned>(n / 4)}, .shared_memory_bytes = static_cast<std::uint32_t>(n * 4)},
           out, upload(in), log);
    std::vector<double> expected(in.begin(), in.end());
    for (std::size_t h = 1; h < n; h *= 2) {
      for (std::size_t i = 0; i < 2 * n; ++i) {
        if ((i & h) != 0) continue;
        const double a = expected[i], b = expected[i + h];
        expected[i] = a + b;
        expected[i + h] = a - b;
      }
    }
    CHECK(difference(download(out), expected) < 1e-5);
  }
}

TEST_CASE("samples: options by Black and Scholes") {
  constexpr std::size_t n = 1000;
  const auto price = random_floats(n, 8, 5, 30), strike = random_floats(n, 9, 1, 100),
             years = random_floats(n, 10, 0.25F, 10);
  const auto call = upload(std::vector<float>(n)), put = upload(std::vector<float>(n));
  launch(module()->untyped_kernel("BlackScholesGPU"), {.grid = {4}, .block = {128}}, call, put, upload(price),
         upload(strike), upload(years), 0.02F, 0.3F, static_cast<int>(n));
  std::vector<double> calls, puts;
  for (std::size_t i = 0; i < n; ++i) {
    const double s = at(price, i), x = at(strike, i), t = at(years, i), root = std::sqrt(t);
    const double d1 = (std::log(s / x) + (0.02 + 0.045) * t) / (0.3 * root), d2 = d1 - 0.3 * root;
    const auto normal = [](double d) { return 0.5 * std::erfc(-d / std::sqrt(2.0)); };
    calls.push_back(s * normal(d1) - x * std::exp(-0.02 * t) * normal(d2));
    puts.push_back(x * std::exp(-0.02 * t) * (1 - normal(d2)) - s * (1 - normal(d1)));
  }
  CHECK(difference(download(call), calls) < 1e-5);
  CHECK(difference(download(put), puts) < 1e-5);
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

TEST_CASE("samples: forces by lists of neighbours") {
  struct Four {
    float x, y, z, w;
  };
  constexpr std::size_t atoms = 256, neighbours = 20;
  const auto numbers = random_floats(3 * atoms, 12, 0, 10);
  std::vector<Four> position;
  for (std::size_t i = 0; i < atoms; ++i) position.push_back({numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2], 0});
  std::vector<int> list;
  for (std::size_t j = 0; j < neighbours; ++j) {
    for (std::size_t i = 0; i < atoms; ++i) list.push_back(static_cast<int>((i + 1 + 7 * j) % atoms));
  }
  const auto force = upload(std::vector<Four>(atoms));
  launch(module()->untyped_kernel("compute_lj_force"), {.grid = {2}, .block = {128}}, force, upload(position),
         static_cast<int>(neighbours), upload(list), 16.0F, 1.5F, 2.0F, static_cast<int>(atoms));
  for (std::size_t i = 0; i < atoms; ++i) {
    double fx = 0, size = 1e-9;
    for (std::size_t j = 0; j < neighbours; ++j) {
      const auto k = static_cast<std::size_t>(list[j * atoms + i]);
      const double dx = at(numbers, 3 * i) - at(numbers, 3 * k), dy = at(numbers, 3 * i + 1) - at(numbers, 3 * k + 1),
                   dz = at(numbers, 3 * i + 2) - at(numbers, 3 * k + 2);
      const double r2 = dx * dx + dy * dy + dz * dz;
      if (r2 >= 16) continue;
      const double inverse = 1 / r2, r6 = inverse * inverse * inverse;
      fx += dx * inverse * r6 * (1.5 * r6 - 2);
      size += std::fabs(dx * inverse * r6 * (1.5 * r6 - 2));
    }
    REQUIRE(std::fabs(static_cast<double>(force.data()[i].x) - fx) < 1e-4 * size);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::samples_test
