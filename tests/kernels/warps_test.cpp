// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests each warp function against its documentation.
namespace weir::test::warps_test {
namespace {

const ModulePtr& module() { return corpus("warps"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("shuffles of all widths and distances") {
  constexpr std::size_t n = 256;
  std::vector<int> in(n);
  std::iota(in.begin(), in.end(), 1000);
  const auto x = upload(in);
  const auto out = upload(std::vector<int>(4 * n));
  for (int width = 1; width <= static_cast<int>(warp_size()); width *= 2) {
    for (const int d : {0, 1, 2, 5, 16, 31}) {
      CAPTURE(width);
      CAPTURE(d);
      launch(module()->untyped_kernel("shuffles"), {.grid = {2}, .block = {128}}, x, out, d, width);
      for (int i = 0; i < static_cast<int>(n); ++i) {
        const int t = i % 128, base = i - t, lane = t % width, group = t - lane;
        const auto at = [&](int k) {
          return out.data()[static_cast<std::size_t>(i) + static_cast<std::size_t>(k) * n] - 1000 - base;
        };
        REQUIRE(at(0) == group + (d + t) % width);
        REQUIRE(at(1) == (lane >= d ? t - d : t));
        REQUIRE(at(2) == (lane + d < width ? t + d : t));
        const int partner = t ^ d;
        REQUIRE(at(3) ==
                (partner < group + width && partner / static_cast<int>(warp_size()) == t / static_cast<int>(warp_size())
                     ? partner
                     : t));
      }
    }
  }
}

TEST_CASE("votes, matches and reductions of a warp that is not whole") {
  for (const unsigned block : {1U, 31U, 64U, 100U, 192U}) {
    CAPTURE(block);
    const auto in = random_ints(2 * block, block, -3, 8);
    const auto out = upload(std::vector<int>(7 * in.size()));
    launch(module()->untyped_kernel("votes"), {.grid = {2}, .block = {block}}, upload(in), out);
    const std::vector<unsigned> positive(in.begin(), in.end());
    const auto reduced = upload(std::vector<unsigned>(6 * in.size()));
    launch(module()->untyped_kernel("reductions"), {.grid = {2}, .block = {block}}, upload(positive), reduced);
    for (unsigned i = 0; i < 2 * block; ++i) {
      const unsigned first = i - i % block % warp_size(), last = std::min(first + warp_size(), i - i % block + block);
      int positives = 0, sevens = 0, small = 0, equal = 0;
      unsigned sum = 0, least = ~0U, greatest = 0, all = ~0U, any = 0, odd = 0;
      for (unsigned k = first; k < last; ++k) {
        positives += in[k] > 0;
        sevens += in[k] == 7;
        small += in[k] < 7;
        equal += in[k] == in[i];
        sum += positive[k];
        least = std::min(least, positive[k]);
        greatest = std::max(greatest, positive[k]);
        all &= positive[k];
        any |= positive[k];
        odd ^= positive[k];
      }
      const int lanes = static_cast<int>(last - first);
      const std::vector<int> expected{positives, sevens > 0, small == lanes, lanes, equal, 1, lanes};
      const std::vector<unsigned> sums{sum, least, greatest, all, any, odd};
      for (std::size_t k = 0; k < 7; ++k) REQUIRE(out.data()[i + k * in.size()] == expected[k]);
      for (std::size_t k = 0; k < 6; ++k) REQUIRE(reduced.data()[i + k * in.size()] == sums[k]);
    }
  }
}

TEST_CASE("warps and parts of warps go different ways") {
  const unsigned w = warp_size(), n = 3 * w;
  const auto in = random_ints(n, 1, -5, 5);
  const auto out = upload(std::vector<int>(2 * n));
  launch(module()->untyped_kernel("divergent"), {.grid = {1}, .block = {n}}, upload(in), out);
  for (unsigned i = 0; i < n; ++i) {
    const unsigned lane = i % w;
    int expected = 0;
    if (i / w == 1) {
      expected = in[i ^ 1U] + 1000;
    } else if (lane < 16) {
      expected = in[lane == 15 ? i : i + 1];
      CHECK(out.data()[n + i] == 16);
    } else {
      for (unsigned k = i - lane + 16; k < i - lane + w; ++k) expected -= in[k] > 0;
    }
    CHECK(out.data()[i] == expected);
  }
}

TEST_CASE("lanes leave a loop one by one") {
  const unsigned n = 2 * warp_size();
  const auto in = random_ints(n, 2, 0, 9);
  const auto out = upload(std::vector<int>(n));
  launch(module()->untyped_kernel("lanes_leave"), {.grid = {1}, .block = {n}}, upload(in), out);
  for (unsigned i = 0; i < n; ++i) {
    int expected = 0;
    for (int round = 0; round < in[i]; ++round) {
      for (unsigned k = i - i % warp_size(); k < i - i % warp_size() + warp_size(); ++k) expected += in[k] > round;
    }
    CHECK(out.data()[i] == expected);
  }
}

TEST_CASE("atomics of a warp made one") {
  const auto in = random_ints(1000, 3, -9, 9);
  const auto counter = upload(std::vector<int>(1));
  const auto out = upload(std::vector<int>(1000));
  launch(module()->untyped_kernel("aggregated"), {.grid = {10}, .block = {100}}, upload(in), counter, out);
  std::vector<int> kept(out.data(), out.data() + counter.data()[0]), expected;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [](int v) { return v > 0; });
  std::sort(kept.begin(), kept.end());
  std::sort(expected.begin(), expected.end());
  CHECK(kept == expected);
}

TEST_CASE("values of other types") {
  const unsigned n = 2 * warp_size();
  const auto in = random_ints(n, 4, 0, 50);
  const std::vector<double> doubles(in.begin(), in.end());
  const auto sums = upload(std::vector<double>(n));
  launch(module()->untyped_kernel("types"), {.grid = {1}, .block = {n}}, upload(doubles), sums);
  for (unsigned i = 0; i < n; ++i) {
    CHECK(sums.data()[i] == doubles[i ^ 1U] + doubles[i ^ 2U]);
  }
}

TEST_SUITE_END();

TEST_CASE("the width of a warp is the device's") {
  const auto out = upload(std::vector<int>(1));
  launch(module()->untyped_kernel("width"), {}, out);
  CHECK(out.data()[0] == 32);
  CHECK(warp_size() == 32);
}

}  // namespace
}  // namespace weir::test::warps_test
