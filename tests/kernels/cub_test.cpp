// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>

#include "tests/kernels/corpus.hpp"

/// Tests the primitives of <cub/cub.cuh> against sequential ones.
namespace weir::test::cub_test {
namespace {

const ModulePtr& module() { return corpus("cub"); }

using Matrix = std::array<int, 4>;
Matrix product(const Matrix& l, const Matrix& r) {
  return {(l[0] * r[0] + l[1] * r[2]) % 32749, (l[0] * r[1] + l[1] * r[3]) % 32749, (l[2] * r[0] + l[3] * r[2]) % 32749,
          (l[2] * r[1] + l[3] * r[3]) % 32749};
}
Matrix matrix_of(int v) { return {v, 1, 1, v + 2}; }
int digest(const Matrix& m) { return m[0] * 7 + m[1] * 5 + m[2] * 3 + m[3]; }
int digest_of(std::span<const int> numbers) {
  Matrix all = matrix_of(numbers.front());
  for (const int v : numbers.subspan(1)) all = product(all, matrix_of(v));
  return digest(all);
}
int sum(std::span<const int> numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0); }
int most(std::span<const int> numbers) { return *std::max_element(numbers.begin(), numbers.end()); }
int least(std::span<const int> numbers) { return *std::min_element(numbers.begin(), numbers.end()); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("cub::BlockReduce") {
  for (const unsigned threads : {16U, 200U}) {
    for (const int valid : {1, 15, 33, 127, 1000}) {
      const auto in = random_ints(3 * threads, threads, 0, 30);
      const auto out = upload(std::vector<int>(3 * 6));
      launch(module()->untyped_kernel("cub_reduce<" + std::to_string(threads) + ">"), {.grid = {3}, .block = {threads}},
             upload(in), out, valid);
      std::vector<int> expected;
      for (std::size_t b = 0; b < 3; ++b) {
        const auto all = std::span(in).subspan(b * threads, threads);
        const auto some = all.first(std::min<std::size_t>(threads, static_cast<std::size_t>(valid)));
        expected.insert(expected.end(), {sum(all), sum(some), most(all), least(some),
                                         3 * sum(all) + static_cast<int>(threads), digest_of(all)});
      }
      CAPTURE(threads);
      CAPTURE(valid);
      CHECK(download(out) == expected);
    }
  }
}

TEST_CASE("cub::BlockReduce of structures in a block of three dimensions") {
  auto in = random_floats(120, 1);
  in[77] = in[40] = 2;
  in[119] = in[3] = -2;
  const auto out = upload(std::vector<float>(7));
  launch(module()->untyped_kernel("cub_reduce_2d"), {.grid = {1}, .block = {12, 5, 2}}, upload(in), out);
  double total = 0, squares = 0;
  for (const float v : in) total += v, squares += double{v} * v;
  CHECK(difference(download(out), std::vector<double>{total, squares, 120, 40, 2, 3, -2}) < 1e-6);
}

TEST_CASE("cub::BlockScan") {
  constexpr unsigned threads = 200;
  const auto in = random_ints(threads, 2, 0, 110);
  const auto out = upload(std::vector<int>(10 * threads));
  launch(module()->untyped_kernel("cub_scan<200>"), {.grid = {1}, .block = {threads}}, upload(in), out);
  const auto all = download(out);
  for (std::size_t t = 0; t < threads; ++t) {
    const auto before = std::span(in).first(t), with = std::span(in).first(t + 1);
    const std::array<int, 10> expected = {sum(with), sum(before), sum(in), t == 0 ? 100 : std::max(100, most(before)),
                                          least(with), least(in), t == 0 ? 0 : most(before), 5 + sum(before), sum(in),
                                          digest_of(with)};
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(t);
      CAPTURE(i);
      REQUIRE(all[i * threads + t] == expected[i]);
    }
  }
}

TEST_CASE("cub::BlockScan over a whole array, by a running prefix") {
  for (const int n : {1, 287, 288, 1000}) {
    const auto in = random_ints(static_cast<std::size_t>(n), 3, -50, 50);
    const auto inclusive = upload(std::vector<int>(in.size())), exclusive = upload(std::vector<int>(in.size()));
    launch(module()->untyped_kernel("cub_scan_all"), {.grid = {1}, .block = {96}}, upload(in), inclusive, exclusive, n);
    std::vector<int> expected(in.size());
    std::inclusive_scan(in.begin(), in.end(), expected.begin());
    CHECK(download(inclusive) == expected);
    std::exclusive_scan(in.begin(), in.end(), expected.begin(), 1000);
    CHECK(download(exclusive) == expected);
  }
}

TEST_CASE("cub::BlockScan of several items in a block of two dimensions") {
  const auto in = random_ints(160, 5, -9, 9);
  const auto out = upload(std::vector<int>(321));
  launch(module()->untyped_kernel("cub_scan_items"), {.grid = {1}, .block = {8, 5}}, upload(in), out);
  std::vector<int> expected(321);
  int before = 0, greatest = 3;
  for (std::size_t t = 0; t < 40; ++t) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t at = i * 40 + t;
      expected[at] = before;
      expected[160 + at] = greatest = std::max(greatest, in[at]);
      before += in[at];
    }
  }
  expected[320] = before;
  CHECK(download(out) == expected);
}

TEST_CASE("cub::WarpReduce and cub::WarpScan") {
  struct Way {
    std::size_t lanes, threads;
    std::function<bool(std::size_t)> takes_part;
  };
  const Way ways[] = {{5, 30, [](std::size_t) { return true; }},
                      {8, 192, [](std::size_t t) { return t / 8 % 3 != 1; }},
                      {32, 128, [](std::size_t) { return true; }}};
  for (const Way& way : ways) {
    const auto in = random_ints(way.threads, static_cast<unsigned>(way.lanes), 0, 200);
    for (const int valid : {1, 3, 40}) {
      const auto out = upload(std::vector<int>(12 * way.threads, -1));
      launch(module()->untyped_kernel("cub_warps_" + std::to_string(way.lanes)),
             {.grid = {1}, .block = {static_cast<unsigned>(way.threads)}}, upload(in), out, valid);
      const auto results = download(out);
      for (std::size_t t = 0; t < way.threads; ++t) {
        if (!way.takes_part(t)) continue;
        const std::size_t lane = t % way.lanes;
        const auto all = std::span(in).subspan(t - lane, way.lanes);
        const auto some = all.first(std::min(way.lanes, static_cast<std::size_t>(valid)));
        const auto before = all.first(lane), with = all.first(lane + 1), rest = all.subspan(lane);
        const auto is_flagged = [](int v) { return v % 3 == 0; };
        const auto head = std::find_if(rest.begin() + 1, rest.end(), is_flagged);
        const auto tail = std::find_if(rest.begin(), rest.end(), is_flagged);
        const auto to_head = rest.first(static_cast<std::size_t>(head - rest.begin()));
        const auto to_tail = rest.first(static_cast<std::size_t>(tail - rest.begin()) + (tail != rest.end() ? 1 : 0));
        int halves = 0;
        for (const int v : all) halves += v + v / 2;
        Matrix exclusive = matrix_of(0);
        for (const int v : before) exclusive = product(exclusive, matrix_of(v));
        const bool first = lane == 0;  // of a warp: a reduction's result is only there
        // A segmented reduction's result is in the first lane of a segment.
        const bool begins = first || is_flagged(in[t]), follows = first || is_flagged(in[t - 1]);
        const std::array<std::pair<bool, int>, 12> expected = {{{first, sum(all)},
                                                                {first, sum(some)},
                                                                {first, most(all)},
                                                                {begins, sum(to_head)},
                                                                {follows, least(to_tail)},
                                                                {first, halves},
                                                                {true, sum(with)},
                                                                {true, sum(before)},
                                                                {true, sum(all)},
                                                                {true, first ? -3 : most(before)},
                                                                {true, digest(product(exclusive, matrix_of(in[t])))},
                                                                {true, digest(exclusive) + all[2]}}};
        for (std::size_t i = 0; i < expected.size(); ++i) {
          CAPTURE(way.lanes);
          CAPTURE(valid);
          CAPTURE(t);
          CAPTURE(i);
          if (expected[i].first) REQUIRE(results[i * way.threads + t] == expected[i].second);
        }
      }
    }
  }
}

TEST_CASE("cub::BlockReduce of several types") {
  const auto in = random_ints(64, 9, -100, 100);
  std::vector<int> positive(in.size());
  std::transform(in.begin(), in.end(), positive.begin(), [](int v) { return v < 0 ? -v : v; });
  const auto out = upload(std::vector<double>(4));
  launch(module()->untyped_kernel("cub_types"), {.grid = {1}, .block = {64}}, upload(positive), out);
  std::uint64_t bits = 0;
  for (const int v : positive) bits |= std::uint64_t{1} << v % 64;
  CHECK(download(out) == std::vector<double>{1.0 * most(positive), sum(positive) + 32.0, static_cast<double>(bits),
                                             1.0 * sum(positive)});
}

TEST_CASE("cub::BlockReduce of half a block, without assertions") {
  CompileOptions options;
  options.extra = {"-DNDEBUG"};
  const auto kernel = target().compile(R"(#include <cub/cub.cuh>
extern "C" __global__ void half(int* out) {
  __shared__ cub::BlockReduce<int, 128>::TempStorage memory;
  if (threadIdx.x >= 128) return;
  const int sum = cub::BlockReduce<int, 128>(memory).Sum(threadIdx.x);
  if (threadIdx.x == 0) *out = sum;
})", options)->untyped_kernel("half");
  const auto out = upload(std::vector<int>(1));
  launch(kernel, {.grid = {1}, .block = {256}}, out);
  CHECK(*out.data() == 127 * 128 / 2);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::cub_test
