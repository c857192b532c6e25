// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests cooperative groups, and launches in which blocks wait for each other.
namespace weir::test::groups_test {
namespace {

const ModulePtr& module() { return corpus("groups"); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("sums of a block and of tiles, by a function of any group") {
  const auto in = random_ints(4 * 64, 1, -100, 100);
  const auto blocks = upload(std::vector<int>(4)), tiles = upload(std::vector<int>(16));
  launch(module()->untyped_kernel("sums_of_groups"), {.grid = {4}, .block = {64}, .shared_memory_bytes = 256}, upload(in),
         blocks, tiles);
  for (long b = 0; b < 4; ++b) CHECK(blocks.data()[b] == std::accumulate(in.begin() + b * 64, in.begin() + (b + 1) * 64, 0));
  for (long t = 0; t < 16; ++t) CHECK(tiles.data()[t] == std::accumulate(in.begin() + t * 16, in.begin() + (t + 1) * 16, 0));
}

TEST_CASE("sums and greatest numbers of tiles, by templates") {
  const auto in = random_floats(3 * 128, 2);
  const auto out = upload(std::vector<float>(3 * 128 / 8 + 3 * 128 / 32)), greatest = upload(std::vector<float>(12));
  launch(module()->untyped_kernel("sums_of_tiles"), {.grid = {3}, .block = {128}}, upload(in), out, greatest);
  std::vector<double> expected, most;
  for (const long size : {8L, 32L}) {
    for (auto at = in.begin(); at != in.end(); at += size) {
      expected.push_back(std::accumulate(at, at + size, 0.0));
      if (size == 32) most.push_back(static_cast<double>(*std::max_element(at, at + size)));
    }
  }
  CHECK(difference(download(out), expected) < 1e-6);
  CHECK(difference(download(greatest), most) == 0);
}

TEST_CASE("every word of a tile") {
  constexpr int n = 96;
  const auto in = random_ints(n, 3, 0, 99);
  const auto out = upload(std::vector<int>(11 * n));
  launch(module()->untyped_kernel("words_of_tiles"), {.grid = {1}, .block = {32, 3}}, upload(in), out);
  for (int i = 0; i < n; ++i) {
    const int r = i % 16, first = i - r;
    const auto at = [&](int rank) { return in[static_cast<std::size_t>(first + rank)]; };
    int ballot = 0, sum = 0, most = 0, least = 100;
    for (int k = 0; k < 16; ++k) {
      ballot |= (at(k) % 2) << k;
      sum += at(k);
      most = std::max(most, at(k));
      least = std::min(least, at(k));
    }
    const int expected[] = {at(3),
                            at(r >= 2 ? r - 2 : r),
                            at(r + 5 < 16 ? r + 5 : r),
                            at(r ^ 6),
                            most > 90,
                            least > 5,
                            ballot,
                            i / 16 + 1000 * (n / 16),
                            sum,
                            most,
                            i % 32 + i / 32 * 100};
    for (int k = 0; k < 11; ++k) {
      CAPTURE(k);
      CHECK((k == 4 || k == 5 ? out.data()[k * n + i] != 0 : out.data()[k * n + i]) == expected[k]);
    }
  }
}

TEST_CASE("one atomic for all that come together") {
  const auto in = random_ints(5000, 4, -50, 50);
  const auto out = upload(std::vector<int>(5000)), counter = upload(std::vector<int>(1));
  launch(module()->untyped_kernel("filter_in_groups"), {.grid = {6}, .block = {128}}, upload(in), out, counter, 5000);
  std::vector<int> expected, given(out.data(), out.data() + counter.data()[0]);
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [](int v) { return v > 0; });
  std::sort(expected.begin(), expected.end());
  std::sort(given.begin(), given.end());
  CHECK(given == expected);
}

TEST_CASE("scans of tiles and of threads that came together") {
  constexpr int n = 160;
  const auto in = random_ints(n, 7, 0, 99);
  const auto out = upload(std::vector<int>(5 * n));
  const auto products = upload(std::vector<double>(n));
  launch(module()->untyped_kernel("scans_of_groups"), {.grid = {1}, .block = {n}}, upload(in), out, products);
  const auto width = static_cast<int>(warp_size());
  int sum = 0, most = 0, before = 0, least = 0;
  double product = 1;
  for (int i = 0; i < n; ++i) {
    const int v = in[static_cast<std::size_t>(i)];
    if (i % 8 == 0) sum = most = 0, product = 1;
    CHECK(out.data()[n + i] == sum);
    CHECK(out.data()[i] == (sum += v));
    CHECK(out.data()[2 * n + i] == (most = std::max(most, v)));
    CHECK(std::fabs(products.data()[i] / (product *= 1 + v / 128.0) - 1) < 1e-14);
    if (i % width == 0) before = 0, least = 100;
    CHECK(out.data()[3 * n + i] == (v % 3 == 0 ? before : -1));
    if (v % 3 == 0) before += v, least = std::min(least, v);
    CHECK(out.data()[4 * n + i] == (v % 3 == 0 ? least : -1));
  }
}

TEST_CASE("tiles of the threads that came together") {
  constexpr int n = 160;
  const auto in = random_ints(n, 8, 0, 99);
  const auto out = upload(std::vector<int>(n));
  launch(module()->untyped_kernel("parts_of_groups"), {.grid = {1}, .block = {n}}, upload(in), out);
  const auto width = static_cast<int>(warp_size());
  for (int first = 0; first < n; first += width) {
    std::vector<int> together;
    for (int i = first; i < std::min(first + width, n); ++i) {
      if (in[static_cast<std::size_t>(i)] % 3 == 0) together.push_back(i);
    }
    const auto count = static_cast<int>(together.size());
    for (int rank = 0; rank < count; ++rank) {
      const int size = std::min(4, count - rank / 4 * 4);
      CHECK(out.data()[together[static_cast<std::size_t>(rank)]] == 10 * size + rank % 4);
    }
  }
}

TEST_CASE("threads that come together from two calls of a function") {
  constexpr std::size_t n = 160;
  const auto in = random_ints(n, 9, 0, 99);
  const auto counters = upload(std::vector<int>(2)), numbers = upload(std::vector<int>(2 * n));
  launch(module()->untyped_kernel("counted_apart"), {.grid = {1}, .block = {n}}, upload(in), counters, numbers);
  for (int rest = 0; rest < 2; ++rest) {
    std::vector<int> expected, given(numbers.data() + static_cast<std::size_t>(rest) * n,
                                     numbers.data() + static_cast<std::size_t>(rest) * n + counters.data()[rest]);
    std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [&](int v) { return v % 3 == rest; });
    std::sort(expected.begin(), expected.end());
    std::sort(given.begin(), given.end());
    CHECK(given == expected);
  }
}

TEST_CASE("blocks of a cooperative launch wait for each other") {
  if (!target().supports(Feature::cooperative_launch)) return;
  constexpr int n = 3000, steps = 7;
  const auto in = random_floats(n, 6);
  const auto a = upload(in), b = upload(std::vector<float>(n));
  launch(module()->untyped_kernel("smoothed"), {.grid = {5}, .block = {64}, .cooperative = true}, a, b, n, steps);
  std::vector<double> now(in.begin(), in.end()), next(n);
  for (int s = 0; s < steps; ++s) {
    for (std::size_t i = 0; i < n; ++i)
      next[i] = 0.25 * now[i > 0 ? i - 1 : 0] + 0.5 * now[i] + 0.25 * now[i < n - 1 ? i + 1 : n - 1];
    now.swap(next);
  }
  CHECK(difference(download(steps % 2 == 1 ? b : a), now) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::groups_test
