// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests kernels with unusual style.
namespace weir::test::style_test {
namespace {

const ModulePtr& module() { return corpus("style"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("style: functors in a reduction, carved shared memory, a struct that indexes") {
  const auto in = random_floats(1000, 1);
  const auto out = upload(std::vector<float>(4));
  launch(module()->untyped_kernel("k_functor"), {.grid = {2}, .block = {64}}, upload(in), out, 1000);
  CHECK(std::fabs(static_cast<double>(out.data()[0]) + static_cast<double>(out.data()[2]) -
                  std::accumulate(in.begin(), in.end(), 0.0)) < 1e-4);
  CHECK(std::max(out.data()[1], out.data()[3]) == *std::max_element(in.begin(), in.end()));

  const auto carved = upload(std::vector<float>(64));
  const auto order = upload(std::vector<int>(64));
  launch(module()->untyped_kernel("k_carve"), {.grid = {1}, .block = {64}, .shared_memory_bytes = 64 * 24}, upload(in),
         order, carved, 50);
  for (int t = 0; t < 64; ++t) {
    const int o = 63 - t;
    const float v = o < 50 ? in[static_cast<std::size_t>(o)] : 0;
    CHECK(order.data()[t] == o);
    CHECK(std::fabs(carved.data()[t] - (3 * v + static_cast<float>(o))) < 1e-4F);
  }
  const auto turned = upload(std::vector<float>(64));
  launch(module()->untyped_kernel("k_tile"), {.grid = {1}, .block = {8, 8}}, upload(in), turned);
  for (std::size_t i = 0; i < 64; ++i) CHECK(turned.data()[i] == in[i % 8 * 8 + i / 8]);
}

TEST_CASE("style: pointers that do not change, handed to a template") {
  const auto in = random_ints(128, 7, -100, 100);
  const auto out = upload(std::vector<int>(6));
  launch(module()->untyped_kernel("k_constant_pointers"), {.grid = {2}, .block = {64}}, upload(in), out, 50);
  for (long block = 0; block < 2; ++block) {
    const auto [low, high] = std::minmax_element(in.begin() + 64 * block, in.begin() + 64 * block + 50);
    CHECK(out.data()[3 * block] == *low);
    CHECK(out.data()[3 * block + 1] == *high);
    CHECK(out.data()[3 * block + 2] == in[0]);
  }
}

TEST_CASE("style: constants that a function computes") {
  const auto in = random_ints(64, 8, -100, 100);
  const auto out = upload(std::vector<int>(64));
  launch(module()->untyped_kernel("k_constants<64>"), {.grid = {1}, .block = {64}}, upload(in), out);
  for (std::size_t t = 0; t < 64; ++t) {
    const auto value = [&](std::size_t i) { return in[i % 64] + 2 * in[(i + 2) % 64] + in[(i + 4) % 64]; };
    CHECK(out.data()[t] == value(t ^ 2U) + 2);
  }
}

TEST_CASE("style: types that variables tell") {
  const auto in = random_ints(64, 9, -100, 100);
  const auto out = upload(std::vector<int>(128));
  launch(module()->untyped_kernel("k_told_types"), {.grid = {1}, .block = {64}, .shared_memory_bytes = 64 * sizeof(int)},
         upload(in), out);
  for (std::size_t t = 0; t < 64; ++t) {
    CHECK(out.data()[t] == 1000 * (in[t] + in[(3 - t / 16) * 16 + t % 16]) + 256 + in[63 - t] + 1);
    CHECK(out.data()[64 + t] == in[t] + 1);
  }
}

TEST_CASE("style: switches beside barriers and around them, votes in conditions") {
  const auto in = random_ints(64, 2, -400, 400);
  for (int mode = 0; mode < 4; ++mode) {
    const auto out = upload(std::vector<int>(64));
    launch(module()->untyped_kernel("k_switch"), {.grid = {1}, .block = {64}}, upload(in), out, mode);
    for (std::size_t i = 0; i < 64; ++i) {
      int v = mode == 0 ? in[i] + 1 : mode == 1 ? in[i] * 2 - 3 : mode == 2 ? in[i] - 3 : -in[i];
      for (int round = 0; round < 22 && v > 100; ++round) v /= 2;
      CHECK(out.data()[i] == v);
    }
  }
  const auto modes = upload(std::vector<int>{0, 1, 2, 3, 4});
  const auto out = upload(std::vector<int>(5 * 64));
  launch(module()->untyped_kernel("k_switch_barrier"), {.grid = {5}, .block = {64}}, modes, out);
  for (int i = 0; i < 320; ++i) {
    const int t = i % 64, expected[] = {63 - t, 7, 100 + (t ^ 1), -1, 63 - t};
    CHECK(out.data()[i] == expected[i / 64]);
  }
  const auto data = upload(random_ints(64, 3, 0, 30)), rounds = upload(std::vector<int>(1));
  const int most = *std::max_element(data.data(), data.data() + 64);
  launch(module()->untyped_kernel("k_while_vote"), {.grid = {1}, .block = {64}}, data, rounds);
  CHECK(rounds.data()[0] == most);
}

TEST_CASE("style: words of bits, and operators of vectors") {
  constexpr std::size_t n = 300;
  std::vector<std::uint32_t> in;
  for (const int v : random_ints(n, 4, 0, 0x7fffffff)) in.push_back(static_cast<std::uint32_t>(v) * 2U);
  in[0] = 0;
  in[1] = 0xffffffffU;
  const auto out = upload(std::vector<std::uint32_t>(9 * n));
  launch(module()->untyped_kernel("k_bits"), {.grid = {3}, .block = {128}}, upload(in), out, static_cast<int>(n));
  const int table[] = {1, 2, 3, 5, 8, 13, 21, 34};
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t v = in[i];
    const auto given = [&](std::size_t k) { return out.data()[k * n + i]; };
    std::uint32_t turned = 0;
    for (unsigned bit = 0; bit < 32; ++bit) turned |= (v >> bit & 1U) << (31 - bit);
    CHECK(given(0) == static_cast<std::uint32_t>(std::popcount(v) + 100 * std::countl_zero(v) +
                                                 10000 * (v == 0 ? 0 : std::countr_zero(v) + 1)));
    CHECK(given(1) == turned);
    CHECK(given(2) == static_cast<std::uint32_t>(std::uint64_t{v} * 0x9E3779B9U >> 32U));
    CHECK(given(3) ==
          static_cast<std::uint32_t>(std::popcount(std::uint64_t{v} << 20U) + 100 * std::countl_zero(std::uint64_t{v})));
    CHECK(given(4) == (v & 0x3fffffffU));
    CHECK(given(5) == v % 1000 / 2);
    CHECK(given(6) == std::clamp(v % 100, 10U, 50U));
    CHECK(std::fabs(given(7) - 1000 / std::sqrt(static_cast<double>(v % 1000 + 1))) < 1.01);
    CHECK(given(8) == static_cast<std::uint32_t>(table[v % 8] + 2));
  }

  struct Three {
    float x, y, z;
  };
  std::vector<Three> points;
  double sum = 0;
  for (const float f : random_floats(150, 5)) points.push_back({f, 2 * f, 1});
  for (const Three& p : points) sum += static_cast<double>(p.x);
  const auto sums = upload(std::vector<Three>(64));
  launch(module()->untyped_kernel("k_forces"), {.grid = {1}, .block = {64}}, upload(points), sums, 150);
  for (const Three& s : download(sums)) {
    CHECK(std::fabs(static_cast<double>(s.x) - sum - 150) < 1e-3);
    CHECK(std::fabs(static_cast<double>(s.y) - 2 * sum) < 1e-3);
    CHECK(s.z == 150);
  }
}

TEST_CASE("style: pointers and references to arrays, and to a function, whose types stand around their names") {
  const auto in = random_floats(64, 6);
  const auto out = upload(std::vector<float>(64));
  launch(module()->untyped_kernel("k_types_around"),
         {.grid = {1}, .block = {64}, .shared_memory_bytes = 8 * 9 * sizeof(float)}, upload(in), out);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t row = i / 8, column = i % 8;
    const auto total = [&](std::size_t r) { return std::accumulate(&in[8 * r], &in[8 * r] + 8, 0.0); };
    const double expected =
        static_cast<double>(in[column * 8 + row]) + (column < 2 ? 3 : 0) + total(7 - row) / 2 + 2 * (total(row) - 1);
    CHECK(std::fabs(static_cast<double>(out.data()[i]) - expected) < 1e-4);
  }
}

TEST_CASE("style: macros of a program before its includes") {
  const auto in = random_ints(64, 8, -100, 100);
  const auto out = upload(std::vector<int>(3));
  launch(corpus("names")->untyped_kernel("named"), {.grid = {1}, .block = {64}}, upload(in), out);
  CHECK(download(out) == std::vector<int>{std::accumulate(in.begin(), in.end(), 0), static_cast<int>(warp_size()), 7});
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::style_test
