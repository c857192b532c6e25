// SPDX-License-Identifier: Apache-2.0
#include <tuple>
#include <type_traits>

#include "tests/kernels/corpus.hpp"

/// Tests control flow around barriers: branches, loops, returns and functions. Also tests errors that are found at run time.
namespace weir::test::control_test {
namespace {

const ModulePtr& module() { return corpus("control"); }

template <class... Args>
std::vector<int> ran(const char* kernel, const LaunchConfig& config, std::size_t count, const Args&... args) {
  const auto out = upload(std::vector<int>(count));
  if constexpr (sizeof...(Args) > 0) {
    const auto in = std::get<0>(std::tie(args...));
    if constexpr (std::is_same_v<decltype(in), const std::vector<int>>) {
      std::apply([&](const auto&,
                     const auto&... rest) { launch(module()->untyped_kernel(kernel), config, upload(in), out, rest...); },
                 std::tie(args...));
    } else {
      launch(module()->untyped_kernel(kernel), config, out, args...);
    }
  } else {
    launch(module()->untyped_kernel(kernel), config, out);
  }
  return download(out);
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a barrier under a condition that differs, where all threads agree or one side is empty") {
  for (const int sign : {1, -1}) {
    const auto out = ran("branch_by_data", {.grid = {1}, .block = {64}}, 64, std::vector<int>(64, sign));
    for (int i = 0; i < 64; ++i) CHECK(out[static_cast<std::size_t>(i)] == (sign > 0 ? 63 - i : -1 - (63 - i)));
  }
}

TEST_CASE("jumps out of loops with barriers") {
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[static_cast<std::size_t>(i)] = i == 20 ? 99 : i;
  const auto out = ran("agreed_jumps", {.grid = {1}, .block = {64}}, 64, in, 40);
  int sum = 0, rounds = 0;
  for (int i = 0; i <= 20; ++i) {
    if (i % 3 == 1) continue;
    sum += in[static_cast<std::size_t>(i)];
    ++rounds;
  }
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == sum + rounds * ((t + 1) % 64));

  const auto times = random_ints(96, 1, 0, 20);
  const auto left = ran("own_jumps", {.grid = {1}, .block = {96}}, 96, times);
  for (int t = 0; t < 96; ++t) {
    const int n = times[static_cast<std::size_t>(t)];
    int v = t;
    for (int i = 0; i < n; ++i) v += (i + t) % 3 == 0 ? 0 : 10;
    CHECK(left[static_cast<std::size_t>(t)] == v + 1000 * n);
  }
}

TEST_CASE("functions in which threads meet") {
  const auto out = ran("calls", {.grid = {1}, .block = {64}}, 64);
  for (int t = 0; t < 64; ++t) {
    const auto v = [](int i) { return (i + 3) % 64; };
    CHECK(out[static_cast<std::size_t>(t)] == 1 + 2 * (v(t) + v((t + 1) % 64) + v((t + 2) % 64)) - v(t));
  }
}

TEST_CASE("a function moves a pointer to constants that it takes by reference") {
  std::vector<int> in(200);
  for (int i = 0; i < 200; ++i) in[static_cast<std::size_t>(i)] = i;
  const auto out = ran("advanced", {.grid = {1}, .block = {64}}, 64, in);
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == 2 * t + 5);
}

TEST_CASE("values of all kinds live across barriers") {
  std::vector<float> in(32);
  for (std::size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i * i);
  const auto out = upload(std::vector<float>(32));
  launch(module()->untyped_kernel("kept"), {.grid = {1}, .block = {32}}, upload(in), out);
  for (std::size_t i = 0; i < 32; ++i) {
    const auto t = static_cast<float>(i);
    const float expected = in[i] + 4 + (in[i] + in[31 - i] + 4) + 3 + in[i] + 2 * in[i] + in[i] + in[i] + 2 * (2 + t) +
                           (1 + t) + (6 + t) + t + static_cast<float>(i % 2) + 1;
    CHECK(out.data()[i] == expected);
  }
}

TEST_CASE("names that hide others") {
  const auto out = ran("hidden_names", {.grid = {1}, .block = {16}}, 16);
  for (int t = 0; t < 16; ++t) CHECK(out[static_cast<std::size_t>(t)] == 2 * (100 + t) + 1000 * ((t + 1) % 16) + 1 + 3 + t);
}

TEST_CASE("threads return at different places") {
  const auto in = random_ints(64, 2, -3, 12);
  CHECK(ran("returns", {.grid = {1}, .block = {64}}, 64, in, 0, 5) == std::vector<int>(64, 0));
  CHECK(ran("returns", {.grid = {1}, .block = {64}}, 64, in, 5, 0) == std::vector<int>(64, 7));
  const auto out = ran("returns", {.grid = {1}, .block = {64}}, 64, in, 20, 2);
  for (std::size_t t = 0; t < 64; ++t) {
    const bool early = in[t] >= 0 && in[t] < 10;
    CHECK(out[t] == (early ? in[t] : t % 2 == 1 ? 10 : 210));
  }
}

TEST_CASE("loops of all kinds") {
  const int n = 5;
  const auto out = ran("loops", {.grid = {1}, .block = {32}}, 32, n);
  std::vector<int> v(32), s(32);
  for (std::size_t t = 0; t < 32; ++t) v[t] = static_cast<int>(t);
  int count = 0;
  for (int i = 0; i < n; i += 2) {
    for (std::size_t j = 0; j < 3; ++j) {
      s = v;
      for (std::size_t t = 0; t < 32; ++t) v[t] = s[(t + 1 + j) % 32];
      count += j + 1 == 2 ? 0 : 1;
    }
  }
  for (int a = 0, b = n; a < b; ++a, --b) {
    for (std::size_t t = 0; t < 32; ++t) s[t] = v[t] + a;
    for (std::size_t t = 0; t < 32; ++t) v[t] = s[31 - t] - b;
  }
  s = v;
  for (std::size_t t = 0; t < 32; ++t) CHECK(out[t] == s[t ^ 1U] + 100000 * count);
}

TEST_CASE("threadIdx in functions, lambdas and classes") {
  const auto out = ran("indices", {.grid = {1}, .block = {8, 4}}, 32);
  for (int t = 0; t < 32; ++t) CHECK(out[static_cast<std::size_t>(t)] == 5 + (31 - t) * 10 + t % 8 + t / 8);
  const auto more = ran("indices_by_functions", {.grid = {1}, .block = {8, 4}}, 32);
  for (int t = 0; t < 32; ++t) CHECK(more[static_cast<std::size_t>(t)] == (31 - t) * 10 + (31 - t < 16 ? 1 : 0));
}

TEST_CASE("shared memory that is declared outside of functions") {
  const auto out = ran("declared_outside", {.grid = {4}, .block = {32}, .shared_memory_bytes = 128}, 128);
  for (int i = 0; i < 128; ++i) CHECK(out[static_cast<std::size_t>(i)] == 31 - i % 32 + 100 * (i / 32));
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::control_test
