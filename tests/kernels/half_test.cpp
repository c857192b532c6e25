// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>

#include "tests/kernels/corpus.hpp"

/// Tests half precision and bfloat16 against numbers that the test rounds itself.
namespace weir::test::half_test {
namespace {

const ModulePtr& module() { return corpus("half"); }

double brain(double v) { return rounded(v, 8); }

std::vector<std::uint16_t> halves(const std::vector<float>& v) {
  std::vector<std::uint16_t> bits;
  for (const float f : v) bits.push_back(half_bits(f));
  return bits;
}
std::uint16_t brain_bits(float f) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(brain(static_cast<double>(f)))) >> 16U);
}
double of_brain_bits(std::uint16_t b) { return static_cast<double>(std::bit_cast<float>(std::uint32_t{b} << 16U)); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("half: vectors of two, a product in tiles") {
  constexpr int n = 1000;
  const auto x = random_floats(2 * n, 1), y = random_floats(2 * n, 2);
  const auto hx = halves(x), hy = halves(y);
  const auto out = upload(hy);
  launch(module()->untyped_kernel("half_axpy"), {.grid = {3}, .block = {64}}, n, 0.75F, upload(hx), out);
  for (std::size_t i = 0; i < 2 * n; ++i) {
    REQUIRE(std::fabs(of_half(out.data()[i]) - half(0.75 * of_half(hx[i]) + of_half(hy[i]))) <= 0);
  }

  constexpr std::size_t side = 48;
  const auto a = halves(random_floats(side * side, 3)), b = halves(random_floats(side * side, 4));
  const auto c = upload(std::vector<std::uint16_t>(side * side));
  launch(module()->untyped_kernel("half_product"), {.grid = {3, 3}, .block = {16, 16}}, upload(a), upload(b), c,
         static_cast<int>(side));
  for (std::size_t i = 0; i < side * side; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < side; ++k) sum += of_half(a[i / side * side + k]) * of_half(b[k * side + i % side]);
    REQUIRE(std::fabs(of_half(c.data()[i]) - sum) < 4e-3);
  }
}

TEST_CASE("half: every operation, rounded once") {
  std::vector<float> in = random_floats(500, 5, -8, 8);
  for (const float special :
       {0.0F, -0.0F, 65504.0F, 65519.0F, 65520.0F, 1e-7F, 6.1e-5F, 3e-8F, 1.00048828F, 1.00146484F, 0.3F})
    in.push_back(special);
  const auto n = in.size();
  const auto out = upload(std::vector<float>(12 * n));
  launch(module()->untyped_kernel("half_operations"), {.grid = {5}, .block = {128}}, upload(in), out, static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const double a = half(static_cast<double>(in[i])), b = half(static_cast<double>(in[n - 1 - i]));
    const auto given = [&](std::size_t k) { return static_cast<double>(out.data()[k * n + i]); };
    CAPTURE(a);
    CAPTURE(b);
    CHECK(given(0) == a);
    CHECK(given(11) == b);
    if (std::isinf(a) || std::isinf(b)) continue;
    CHECK(given(1) == half(a + b));
    CHECK(given(2) == half(a - b));
    CHECK(given(3) == half(a * b));
    const auto near = [](double v, double expected) {
      return std::isinf(half(expected)) ? v == half(expected) || std::fabs(v) == 65504
                                        : std::fabs(v - expected) <= std::fabs(expected) * 2e-3 + 1e-7;
    };
    if (b != 0) CHECK(near(given(4), a / b));
    CHECK(near(given(5), std::exp(a)));
    CHECK(std::fabs(given(6) - half(std::sqrt(std::fabs(a)))) <= std::sqrt(std::fabs(a)) * 1e-3);
    const double two = half(a + b) - half(b * a);
    CHECK((std::isnan(two) || given(7) == static_cast<double>(static_cast<float>(two))));
    CHECK(given(8) == (a < b ? 1 : 0) + (a >= b ? 2 : 0) + 4);
    CHECK(given(9) == std::nearbyint(a) + 3);
    CHECK(given(10) == 0x8000);
  }
}

TEST_CASE("bfloat16: every operation, and a softmax") {
  const auto in = random_floats(400, 6, -50, 50);
  const auto n = in.size();
  const auto out = upload(std::vector<float>(7 * n));
  launch(module()->untyped_kernel("bfloat_operations"), {.grid = {4}, .block = {128}}, upload(in), out, static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const double a = brain(static_cast<double>(in[i])), b = brain(static_cast<double>(in[n - 1 - i]));
    const auto given = [&](std::size_t k) { return static_cast<double>(out.data()[k * n + i]); };
    CHECK(given(0) == a);
    CHECK(given(1) == brain(a + b));
    CHECK(given(2) == brain(a - b));
    CHECK(given(3) == brain(a * b));
    CHECK(std::fabs(given(4) - brain(a * b + a)) <= std::fabs(a * b + a) / 128);
    CHECK(given(5) == static_cast<double>(static_cast<float>(a) + static_cast<float>(b)));
    CHECK(given(6) == (a < b ? 1 : 0) + (a >= b ? 2 : 0));
  }
  constexpr int columns = 300;
  const auto rows = random_floats(2 * columns, 7, -5, 5);
  std::vector<std::uint16_t> bits;
  for (const float f : rows) bits.push_back(brain_bits(f));
  const auto soft = upload(std::vector<std::uint16_t>(2 * columns));
  launch(module()->untyped_kernel("bfloat_softmax"), {.grid = {2}, .block = {128}, .shared_memory_bytes = columns * 4},
         upload(bits), soft, columns);
  for (std::size_t r = 0; r < 2; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(of_brain_bits(bits[r * columns + c]));
    for (std::size_t c = 0; c < columns; ++c) {
      const double expected = std::exp(of_brain_bits(bits[r * columns + c])) / sum;
      REQUIRE(std::fabs(of_brain_bits(soft.data()[r * columns + c]) - expected) <= expected / 100);
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::half_test
