// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tests/kernels/corpus.hpp"

/// Tests kernels that use a library of device functions, and control flow that is typical of old code.
namespace weir::test::library_test {
namespace {

const ModulePtr& library() { return corpus("narrow_library"); }
const ModulePtr& habits() { return corpus("narrow_habits"); }

TEST_SUITE_BEGIN("warps of 32");

TEST_CASE("library: the k-th value by its digits, with lambdas that return early") {
  constexpr std::size_t n = 777;
  auto x = random_floats(2 * n, 24);
  const auto again = random_ints(n, 25, 0, 20);
  for (std::size_t i = 0; i < n; ++i) x[n + i] = static_cast<float>(again[i]);
  for (const int k : {1, 5, 300, 777}) {
    CAPTURE(k);
    const auto value = upload(std::vector<float>(2));
    launch(library()->untyped_kernel("gatherKthValue"), {.grid = {2}, .block = {96}}, upload(x), static_cast<int>(n), k,
           value);
    for (std::size_t r = 0; r < 2; ++r) {
      std::vector<float> sorted(x.data() + r * n, x.data() + (r + 1) * n);
      std::sort(sorted.begin(), sorted.end());
      CHECK(value.data()[r] == sorted[static_cast<std::size_t>(k - 1)]);
    }
  }
}

TEST_CASE("habits: a switch with cases that meet and one that goes on into the next") {
  constexpr std::size_t n = 50;
  const auto in = random_ints(2 * n, 27, -20, 90);
  for (const int mode : {0, 1, 2, 3, 4}) {
    CAPTURE(mode);
    const auto out = upload(std::vector<int>(2 * n));
    launch(habits()->untyped_kernel("odd_switch"), {.grid = {2}, .block = {64}, .shared_memory_bytes = 64 * sizeof(int)},
           upload(in), out, mode, static_cast<int>(n));
    for (std::size_t b = 0; b < 2; ++b) {
      std::vector<int> v(in.data() + b * n, in.data() + (b + 1) * n);
      const int sum = std::accumulate(v.begin(), v.end(), 0), most = *std::max_element(v.begin(), v.end());
      v.resize(64);
      for (std::size_t t = 0; t < n; ++t)
        CHECK(out.data()[b * n + t] == (mode < 2 ? sum : mode == 2 ? 2 * most : mode == 3 ? v[t] + v[(t + 1) % 64] : -1));
    }
  }
}

TEST_CASE("habits: endless loops that a vote ends") {
  const auto numbers = random_ints(128, 31, 1, 30);
  const std::vector<unsigned> in(numbers.begin(), numbers.end());
  const auto out = upload(std::vector<unsigned>(128));
  launch(habits()->untyped_kernel("odd_vote"), {.grid = {2}, .block = {64}}, upload(in), out, 128);
  for (std::size_t i = 0; i < in.size(); ++i) {
    unsigned steps = 0;
    for (unsigned x = in[i]; x > 1; ++steps) x = (x & 1U) != 0 ? 3 * x + 1 : x / 2;
    CHECK(out.data()[i] == steps);
  }
}

TEST_CASE("habits: shadowed names, conditions that declare, counting down past zero") {
  const auto in = random_floats(64, 32);
  const auto out = upload(std::vector<float>(64));
  launch(habits()->untyped_kernel("odd_shadow"), {.grid = {1}, .block = {64}}, upload(in), out, 64);
  std::vector<double> sums(64);
  std::partial_sum(in.begin(), in.end(), sums.begin(), [](double a, double b) { return a + b; });
  for (const std::size_t stride : {8U, 4U, 2U, 1U}) {
    const auto before = sums;
    for (std::size_t i = 0; i < 64; ++i) sums[i] += 0.5 * before[i ^ stride];
  }
  CHECK(difference(download(out), sums) < 1e-5);
}

TEST_CASE("habits: registers in a class with operators, lambdas and an unrolled visit") {
  const auto in = random_floats(384, 33);
  const auto out = upload(std::vector<float>(128));
  launch(habits()->untyped_kernel("odd_regs<3>"), {.grid = {2}, .block = {64}}, upload(in), out);
  std::vector<double> expected;
  for (std::size_t b = 0; b < 2; ++b) {
    const auto c = [&](std::size_t t, std::size_t k) {
      const auto element = [&](std::size_t thread) { return static_cast<double>(in[(b * 64 + thread) * 3 + k]); };
      return 2 * (element(t) + element(t ^ 1U)) + 1;
    };
    for (std::size_t t = 0; t < 64; ++t) expected.push_back(c(63 - t, 0) + c(63 - t, 1) + 0.5 + c(t, 2));
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("habits: whole blocks, warps and single threads that return before barriers, and a goto between none") {
  const auto in = random_ints(384, 34, 0, 99);
  const auto out = upload(std::vector<int>(384, -7));
  launch(habits()->untyped_kernel("odd_returns"), {.grid = {3}, .block = {128}}, upload(in), out, 384);
  for (std::size_t i = 0; i < 384; ++i) {
    const std::size_t b = i / 128, t = i % 128;
    const int expected = b == 1 || t >= 96 ? -7 : t >= 64 ? in[b * 128 + t - 64] : in[b * 128 + 95 - t];
    CHECK(out.data()[i] == expected);
  }
  const std::vector<char> text = {'z', 'c', 'a', 'x', 'b', 'c'};
  const auto found = upload(std::vector<int>(26));
  launch(habits()->untyped_kernel("odd_goto"), {.grid = {1}, .block = {26}}, upload(text), found, 6);
  for (int t = 0; t < 26; ++t) {
    const auto at = std::find(text.begin(), text.end(), static_cast<char>('a' + t));
    CHECK(found.data()[t] == (at == text.end() ? -1 : static_cast<int>(at - text.begin())));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::library_test
