// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <functional>

#include "tests/kernels/corpus.hpp"

/// Tests packed numbers, directed rounding and other intrinsics that CUDA and Weir on the CPU have, but HIP does not. Also
/// tests parts of groups.
namespace weir::test::packed_test {
namespace {

const ModulePtr& module() { return corpus("narrow_packed"); }
const ModulePtr& groups() { return corpus("narrow_groups"); }

// Whether the device's compiler knows them: AMD's does not.
bool has_intrinsics() { return target().backend().name() != "hip"; }

template <class T>
std::uint32_t each(std::uint32_t a, std::uint32_t b, const std::function<int(int, int)>& f) {
  constexpr unsigned bits = sizeof(T) * 8;
  std::uint32_t result = 0;
  for (unsigned at = 0; at < 32; at += bits)
    result |= (static_cast<std::uint32_t>(f(static_cast<T>(a >> at), static_cast<T>(b >> at))) & ((1U << bits) - 1)) << at;
  return result;
}
template <class T>
int sum_of(std::uint32_t a, std::uint32_t b, const std::function<int(int, int)>& f) {
  int sum = 0;
  each<T>(a, b, [&](int x, int y) { return sum += f(x, y), 0; });
  return sum;
}

TEST_SUITE_BEGIN("warps of 32");

TEST_CASE("packed: numbers of 8 and 16 bits in a word, and their dot products") {
  if (!has_intrinsics()) return;
  constexpr std::size_t n = 400, results = 15;
  std::vector<std::uint32_t> a, b;
  for (const int v : random_ints(n, 1, 0, 0x7fffffff)) a.push_back(static_cast<std::uint32_t>(v) * 2U + 1U);
  for (const int v : random_ints(n, 2, 0, 0x7fffffff)) b.push_back(static_cast<std::uint32_t>(v) * 3U);
  a[0] = 0x80808080U, b[0] = 0x7f7f7f7fU, a[1] = b[1] = 0x80ff7f00U, a[2] = 0x80007fffU, b[2] = 0x80007fffU;
  const auto out = upload(std::vector<std::uint32_t>(n * results));
  launch(module()->untyped_kernel("simd_video"), {.grid = {4}, .block = {128}}, upload(a), upload(b), out,
         static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(i);
    const std::uint32_t x = a[i], y = b[i];
    const auto fit = [](int v, int most) { return std::clamp(v, -most - 1, most); };
    const auto product = [](int p, int q) { return p * q; };
    const std::array<std::uint32_t, results> expected = {
        each<std::uint8_t>(x, y, std::plus<int>()),
        each<std::uint8_t>(x, y, std::minus<int>()),
        each<std::int8_t>(x, y, [&](int p, int q) { return fit(p - q, 127); }),
        each<std::uint8_t>(x, y, [](int p, int q) { return p == q ? 255 : 0; }),
        each<std::uint8_t>(x, 0, [](int p, int q) { return p != q ? 255 : 0; }),
        each<std::int8_t>(x, y, [](int p, int) { return std::abs(p); }),
        each<std::int8_t>(x, y, [](int p, int q) { return std::max(p, q); }),
        each<std::uint8_t>(x, y, [](int p, int q) { return std::min(p, q); }),
        static_cast<std::uint32_t>(sum_of<std::int8_t>(x, y, [](int p, int q) { return std::abs(p - q); })),
        each<std::uint8_t>(x, y, [](int p, int q) { return (p + q + 1) / 2; }),
        static_cast<std::uint32_t>(7 + sum_of<std::int8_t>(x, y, product)),
        static_cast<std::uint32_t>(9 + sum_of<std::uint8_t>(x, y, product)),
        each<std::int16_t>(x, y, [&](int p, int q) { return fit(p + q, 32767); }),
        // A mean is rounded away from zero in the middle.
        each<std::int16_t>(x, y, [](int p, int q) { return p + q >= 0 ? (p + q + 1) / 2 : (p + q - 1) / 2; }),
        static_cast<std::uint32_t>(3 + static_cast<std::int16_t>(x) * static_cast<std::int8_t>(y >> 16U) +
                                   static_cast<std::int16_t>(x >> 16U) * static_cast<std::int8_t>(y >> 24U)),
    };
    for (std::size_t k = 0; k < results; ++k) {
      CAPTURE(k);
      CHECK(out.data()[i * results + k] == expected[k]);
    }
  }
}

TEST_CASE("packed: a product of weights of 4 bits by __dp4a") {
  if (!has_intrinsics()) return;
  struct Block {
    std::uint16_t scale, sum;
    std::int8_t values[32];
  };
  constexpr int blocks = 40;
  std::vector<int> weights = random_ints(blocks * 4, 3, -0x7fffffff, 0x7fffffff);
  const auto values = random_ints(blocks * 32, 4, -128, 127);
  const auto scales = random_floats(blocks, 5);
  std::vector<Block> x(blocks);
  double expected = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    x[i].scale = 0x3800;  // 0.5
    x[i].sum = 0x4000;    // 2
    int sum = 0;
    for (std::size_t k = 0; k < 32; ++k) {
      x[i].values[k] = static_cast<std::int8_t>(values[i * 32 + k]);
      const auto word = static_cast<std::uint32_t>(weights[i * 4 + k % 16 / 4]);
      sum += static_cast<int>(word >> (k % 4 * 8 + k / 16 * 4) & 15U) * x[i].values[k];
    }
    expected += scales[i] * (sum * 0.5 - 8.0 * 2.0);
  }
  const auto out = upload(std::vector<float>(1));
  launch(module()->untyped_kernel("q4_dot"), {.grid = {1}, .block = {32}}, upload(weights), upload(x), upload(scales), out,
         blocks);
  CHECK(std::fabs(out.data()[0] - expected) < 1e-2);
}

TEST_CASE("packed: atomics on halves, and Bessel's functions") {
  if (!has_intrinsics()) return;
  const auto in = random_ints(200, 6, -4, 4);
  const auto pairs = upload(std::vector<std::uint16_t>(8)), one = upload(std::vector<std::uint16_t>(1));
  launch(module()->untyped_kernel("half_atomics"), {.grid = {4}, .block = {64}},
         upload(std::vector<float>(in.begin(), in.end())), pairs, one, 200);
  double sums[4] = {};
  for (std::size_t i = 0; i < in.size(); ++i) sums[i % 4] += in[i];
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK(of_half(pairs.data()[2 * k]) == sums[k]);
    CHECK(of_half(pairs.data()[2 * k + 1]) == 50);
  }
  CHECK(of_half(one.data()[0]) == 200);

  const auto x = random_floats(100, 7, -30, 30);
  const auto out = upload(std::vector<float>(200));
  launch(module()->untyped_kernel("bessel"), {.grid = {1}, .block = {128}}, upload(x), out, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    const double v = std::fabs(static_cast<double>(x[i])), i0 = std::cyl_bessel_i(0.0, v), i1 = std::cyl_bessel_i(1.0, v);
    CHECK(std::fabs(out.data()[2 * i] / i0 - 1) < 1e-6);
    CHECK(std::fabs(out.data()[2 * i + 1] / std::copysign(i1, x[i]) - 1) < 1e-6);
  }
}

TEST_CASE("packed: sums and products rounded in a direction") {
  if (!has_intrinsics()) return;
  constexpr int n = 1000, results = 12;
  auto a = random_floats(n, 8, -2, 2), b = random_floats(n, 9, -2, 2);
  for (std::size_t i = 0; i < 400; ++i) b[i] = std::ldexp(b[i], static_cast<int>(i) - 200);
  a[0] = 3e38F, b[0] = 3e38F, a[2] = -3e38F, b[2] = -3e38F, a[4] = 1e-44F, b[4] = 0.3F, a[6] = -1e-44F, b[6] = 0.3F;
  const auto out = upload(std::vector<float>(n * results));
  launch(module()->untyped_kernel("directed"), {.grid = {8}, .block = {128}}, upload(a), upload(b), out, n);
  const int modes[results] = {FE_TOWARDZERO, FE_UPWARD,   FE_DOWNWARD,   FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD,
                              FE_TOWARDZERO, FE_UPWARD,   FE_TOWARDZERO, FE_DOWNWARD,   FE_UPWARD, FE_TOWARDZERO};
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < results; ++k) {
      std::fesetround(modes[k]);
      const volatile float x = a[i], y = b[i], z = a[i ^ 1U];
      const volatile float e = k < 3    ? x + y
                               : k < 6  ? x * y
                               : k < 8  ? x / y
                               : k < 10 ? std::fma(x, y, z)
                               : k < 11 ? std::sqrt(std::fabs(x))
                                        : x - y;
      std::fesetround(FE_TONEAREST);
      if (out.data()[i * results + k] == e) continue;
      MESSAGE(i, " ", k, ": ", out.data()[i * results + k], " ", e);
      ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("packed: doubles rounded in a direction") {
  if (!has_intrinsics()) return;
  constexpr std::size_t n = 1000, results = 13;
  std::vector<double> a, b;
  std::vector<long long> whole;
  for (const float v : random_floats(n, 31))
    a.push_back(std::ldexp(1.0 / static_cast<double>(v), static_cast<int>(a.size())));
  for (const float v : random_floats(n, 32))
    b.push_back(std::ldexp(3.0 / static_cast<double>(v), 40 - static_cast<int>(b.size())));
  for (const int v : random_ints(n, 33, 1, 0x7fffffff)) whole.push_back(static_cast<long long>(v) * v * 2 - (1LL << 62));
  a[0] = 1e308, b[0] = 1e308, a[2] = -1e308, b[2] = -1e308, a[4] = 1e-320, b[4] = 0.3, a[6] = -1e-320, b[6] = 0.3;
  const auto out = upload(std::vector<double>(n * results));
  launch(module()->untyped_kernel("directed_doubles"), {.grid = {8}, .block = {128}}, upload(a), upload(b), upload(whole),
         out, static_cast<int>(n));
  const int modes[results] = {FE_TOWARDZERO, FE_UPWARD,   FE_DOWNWARD, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD,  FE_TOWARDZERO,
                              FE_UPWARD,     FE_DOWNWARD, FE_UPWARD,   FE_DOWNWARD,   FE_UPWARD, FE_TOWARDZERO};
  int wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < results; ++k) {
      std::fesetround(modes[k]);
      const volatile double x = a[i], y = b[i], z = a[i ^ 1U];
      const volatile long long w = whole[i];
      const volatile unsigned long long u = static_cast<unsigned long long>(w);
      const volatile double e = k < 2     ? x + y
                                : k < 3   ? x - y
                                : k < 5   ? x * y
                                : k < 7   ? x / y
                                : k == 7  ? std::fma(x, y, z)
                                : k == 8  ? std::sqrt(std::fabs(x))
                                : k == 9  ? 1.0 / y
                                : k == 10 ? static_cast<double>(w)
                                : k == 11 ? static_cast<double>(u)
                                          : static_cast<double>(static_cast<float>(w));
      std::fesetround(FE_TONEAREST);
      if (out.data()[i * results + k] == e) continue;
      MESSAGE(i, " ", k, ": ", out.data()[i * results + k], " ", e);
      ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("groups: atomics of those that came together, halves of a tile and labels") {
  constexpr int n = 1000;
  const auto in = random_ints(n, 10, 0, 100);
  const auto counts = upload(std::vector<int>(7)), places = upload(std::vector<int>(n));
  launch(groups()->untyped_kernel("bucket"), {.grid = {8}, .block = {128}}, upload(in), counts, places, n);
  std::vector<std::vector<int>> of(7);
  for (std::size_t i = 0; i < n; ++i) of[static_cast<std::size_t>(in[i] % 7)].push_back(places.data()[i]);
  for (std::size_t k = 0; k < 7; ++k) {
    std::sort(of[k].begin(), of[k].end());
    REQUIRE(of[k].size() == static_cast<std::size_t>(counts.data()[k]));
    for (std::size_t i = 0; i < of[k].size(); ++i) CHECK(of[k][i] == static_cast<int>(i));
  }

  const auto evens = upload(std::vector<int>(1)), odds = upload(std::vector<int>(1));
  launch(groups()->untyped_kernel("halves"), {.grid = {8}, .block = {128}}, upload(in), evens, odds, n);
  int sums[2] = {};
  for (const int v : in) sums[v % 2] += v;
  CHECK(evens.data()[0] == sums[0]);
  CHECK(odds.data()[0] == sums[1]);

  const auto label = random_ints(n, 11, 0, 5);
  const auto value = random_floats(n, 12);
  const auto totals = upload(std::vector<float>(6));
  launch(groups()->untyped_kernel("labels"), {.grid = {8}, .block = {128}}, upload(label), upload(value), totals, n);
  std::vector<double> by_label(6);
  for (std::size_t i = 0; i < n; ++i) by_label[static_cast<std::size_t>(label[i])] += value[i];
  CHECK(difference(download(totals), by_label) < 1e-5);
}

TEST_CASE("groups: which part of its parent a group is; a barrier in two steps") {
  const auto label = random_ints(64, 13, 0, 3);
  const auto out = upload(std::vector<int>(256));
  launch(groups()->untyped_kernel("parts"), {.grid = {1}, .block = {64}}, upload(label), out);
  for (std::size_t i = 0; i < 64; ++i) {
    CAPTURE(i);
    std::vector<int> found;  // the labels of the warp, by the first lanes that have them
    for (std::size_t k = i / 32 * 32; k < i / 32 * 32 + 32; ++k)
      if (std::find(found.begin(), found.end(), label[k]) == found.end()) found.push_back(label[k]);
    const auto rank = std::find(found.begin(), found.end(), label[i]) - found.begin();
    CHECK(out.data()[i] == static_cast<int>(rank + 100 * std::ssize(found)));
    CHECK(out.data()[64 + i] == (label[i] > 0 ? 201 : 200));
    CHECK(out.data()[128 + i] == static_cast<int>(i % 32 / 4) + 800 + 10000);
    CHECK(out.data()[192 + i] == label[(i + 63) % 64]);
  }
}

namespace {
// The bits of the number of a type that a value is rounded to. The values are below the type's greatest.
std::uint16_t narrowed(long double v, int significand, int exponent_bias, int direction) {
  if (v == 0) return 0;
  const int exponent = std::ilogb(v), shift = significand - 1 - exponent;
  std::fesetround(direction);
  const auto whole = static_cast<long>(std::rint(std::ldexp(v, shift)));
  std::fesetround(FE_TONEAREST);
  const long one = 1L << (significand - 1), magnitude = std::labs(whole);
  const long bits = ((static_cast<long>(exponent) + exponent_bias) << (significand - 1)) + (magnitude - one);
  return static_cast<std::uint16_t>(bits | (v < 0 ? 0x8000 : 0));
}
std::uint16_t brain(long double v, int direction = FE_TONEAREST) { return narrowed(v, 8, 127, direction); }
std::uint16_t half(long double v, int direction) { return narrowed(v, 11, 15, direction); }
long double of_brain(std::uint16_t b) { return static_cast<long double>(std::bit_cast<float>(std::uint32_t{b} << 16U)); }
}  // namespace

TEST_CASE("half and bfloat16: conversions and sums that are rounded once, in each direction; comparisons with NaN") {
  if (!has_intrinsics()) return;
  constexpr std::size_t n = 300;
  std::vector<float> f = random_floats(n, 21);
  std::vector<double> d;
  std::vector<int> s = random_ints(n, 22, -2000000000, 2000000000);
  std::vector<long long> l;
  for (std::size_t i = 0; i < n; ++i) {
    f[i] *= 1000;
    // Right beside the middle of two numbers, which a float or a double in between would be.
    d.push_back((i % 2 == 0 ? 1 : -1) * (1 + std::ldexp(1, -8) + std::ldexp(i % 3 - 1.0, -40)));
    if (i % 4 == 0) s[i] = (1 << 24) + (1 << 16) + static_cast<int>(i % 3) - 1;
    l.push_back((i % 2 == 0 ? 1 : -1) * ((1LL << 61) + (1LL << 53) + static_cast<long long>(i % 3) - 1));
  }
  const auto out = upload(std::vector<std::uint16_t>(16 * n));
  launch(module()->untyped_kernel("narrow_conversions"), {.grid = {3}, .block = {128}}, upload(f), upload(d), upload(s),
         upload(l), out, static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i) {
    CAPTURE(i);
    const std::uint16_t* const o = out.data() + 16 * i;
    CHECK(o[0] == brain(f[i], FE_TOWARDZERO));
    CHECK(o[1] == brain(f[i], FE_DOWNWARD));
    CHECK(o[2] == brain(f[i], FE_UPWARD));
    CHECK(o[3] == brain(d[i]));
    CHECK(o[4] == brain(s[i]));
    CHECK(o[5] == brain(s[i], FE_UPWARD));
    CHECK(o[6] == brain(l[i]));
    CHECK(o[7] == brain(l[i], FE_TOWARDZERO));
    CHECK(o[8] == half(l[i] >> 46, FE_DOWNWARD));
    CHECK(o[9] == half(s[i] >> 15, FE_TOWARDZERO));
    const long double a = of_brain(brain(f[i])), product = a * of_brain(brain(d[i]));
    CHECK(o[10] == brain(product + of_brain(brain(s[i]))));
    CHECK(o[11] == (product >= 1 ? brain(1) : product <= 0 ? 0 : brain(product)));
    CHECK(static_cast<std::int16_t>(o[12]) == static_cast<int>(std::floor(a)));
    CHECK(static_cast<std::int16_t>(o[13]) == static_cast<int>(std::ceil(a)));
    CHECK(o[14] == 2 + 4 + 8);
    CHECK(o[15] == static_cast<std::uint16_t>(0xffff + 1));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::packed_test
