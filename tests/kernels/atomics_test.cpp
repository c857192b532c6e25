// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests atomic functions, on memory that many blocks share and on a block's own memory.
namespace weir::test::atomics_test {
namespace {

const ModulePtr& module() { return corpus("atomics"); }

constexpr LaunchConfig many{.grid = {64}, .block = {128}};
constexpr std::size_t threads = 64 * 128;

template <class T>
void check_whole_numbers(const char* kernel, const std::vector<T>& in) {
  std::vector<T> cells{0, 0, std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest(), static_cast<T>(~T{0}), 0, 0,
                       0, 0};
  const auto x = upload(cells);
  launch(module()->untyped_kernel(kernel), many, x, upload(in));
  for (const T v : in) {
    cells[0] = static_cast<T>(cells[0] + v);
    cells[1] = static_cast<T>(cells[1] - v);
    cells[2] = std::min(cells[2], v);
    cells[3] = std::max(cells[3], v);
    cells[4] = static_cast<T>(cells[4] & ~v);
    cells[5] = static_cast<T>(cells[5] | v);
    cells[6] = static_cast<T>(cells[6] ^ v);
  }
  cells[7] = cells[0];
  cells[8] = static_cast<T>(2 * cells[0]);
  CHECK(download(x) == cells);
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("atomics of many blocks lose nothing") {
  const auto in = random_ints(threads, 1, -1000, 100000);
  check_whole_numbers<int>("on_int", in);
  check_whole_numbers<unsigned>("on_unsigned", {in.begin(), in.end()});
  std::vector<unsigned long long> large;
  for (const int v : in) large.push_back(static_cast<unsigned long long>(v + 1000) << 20U);
  check_whole_numbers<unsigned long long>("on_long", large);
  const auto floats = random_floats(threads, 2);
  const auto f = upload(std::vector<float>(1));
  const auto d = upload(std::vector<double>(2));
  launch(module()->untyped_kernel("on_floats"), many, f, d, upload(floats));
  const double expected = std::accumulate(floats.begin(), floats.end(), 0.0);
  CHECK(std::fabs(static_cast<double>(f.data()[0]) - expected) < 1e-2);
  CHECK(d.data()[0] == doctest::Approx(expected));
  CHECK(d.data()[1] == -static_cast<double>(threads));
}

TEST_CASE("atomicInc, atomicDec and atomicExch") {
  const unsigned limit = 9;
  const auto counter = upload(std::vector<unsigned>{0, limit});
  const auto taken = upload(std::vector<int>(20));
  launch(module()->untyped_kernel("tickets"), {.grid = {50}, .block = {100}}, counter, taken, limit);
  CHECK(download(taken) == std::vector<int>(20, 500));
  const auto cell = upload(std::vector<int>(1));
  const auto seen = upload(std::vector<int>(threads + 1));
  launch(module()->untyped_kernel("pushed_out"), many, cell, seen);
  seen.data()[cell.data()[0]] = 1;
  CHECK(download(seen) == std::vector<int>(threads + 1, 1));
}

TEST_CASE("a histogram in shared memory") {
  const auto numbers = random_ints(100000, 3, 0, 255);
  const std::vector<unsigned char> in(numbers.begin(), numbers.end());
  const auto bins = upload(std::vector<unsigned>(256));
  launch(module()->untyped_kernel("histogram"), {.grid = {20}, .block = {192}}, upload(in), bins, 100000);
  std::vector<unsigned> expected(256);
  for (const unsigned char v : in) ++expected[v];
  CHECK(download(bins) == expected);
}

TEST_CASE("atomics on a block's own memory") {
  const auto in = random_ints(100, 4, 0, 1000);
  const auto out = upload(std::vector<int>(32));
  launch(module()->untyped_kernel("shared_cells"), {.grid = {1}, .block = {100}}, upload(in), out);
  const int sum = std::accumulate(in.begin(), in.end(), 0);
  int all = -1, any = 0, odd = 0;
  for (const int v : in) {
    all &= v;
    any |= v;
    odd ^= v;
  }
  const auto& o = out;
  CHECK(o.data()[0] == sum);
  CHECK(o.data()[1] == -sum);
  CHECK(o.data()[2] == *std::min_element(in.begin(), in.end()));
  CHECK(o.data()[3] == *std::max_element(in.begin(), in.end()));
  CHECK(o.data()[4] == all);
  CHECK(o.data()[5] == any);
  CHECK(o.data()[6] == odd);
  CHECK(o.data()[7] % 2 == 1);
  CHECK(o.data()[8] + o.data()[9] == sum);
  CHECK(o.data()[16] == 100);
  CHECK(o.data()[17] == 100);
  CHECK(o.data()[20] == sum);
}

TEST_CASE("shared memory of a function in which no threads meet") {
  const auto out = upload(std::vector<int>(8));
  launch(module()->untyped_kernel("through_a_function"), {.grid = {8}, .block = {50}}, out);
  CHECK(download(out) == std::vector<int>(8, 49 * 50 / 2));
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::atomics_test
