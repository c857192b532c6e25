// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/corpus.hpp"

/// Tests C++ rules about order of evaluation, aliases and numbers, at places where threads synchronize.
namespace weir::test::fine_print_test {
namespace {

template <class... Args>
std::vector<int> ran(const char* kernel, unsigned threads, const Args&... args) {
  const auto out = upload(std::vector<int>(threads));
  launch(corpus("fine_print")->untyped_kernel(kernel), {.grid = {1}, .block = {threads}}, out, args...);
  return download(out);
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a loop that counts a floating-point number by steps adds them one by one") {
  const auto out = ran("float_stride", 64);
  for (int t = 0; t < 64; ++t) {
    float sum = 0;
    for (auto x = static_cast<float>(t); x < 30.0F; x += 0.1F) sum += x;
    CHECK(out[static_cast<std::size_t>(t)] == static_cast<int>(sum * 16));
  }
}

TEST_CASE("a loop whose narrow index wraps around within a row of threads") {
  const auto out = ran("narrow_stride", 320);
  for (int t = 0; t < 320; ++t) {
    int sum = 0;
    for (auto i = static_cast<unsigned char>(t); i < 100; i = static_cast<unsigned char>(i + 64)) sum += 1 + i;
    CHECK(out[static_cast<std::size_t>(t)] == sum);
  }
}

TEST_CASE("calls of an expression and of a list, from the left to the right") {
  const auto out = ran("order_of_calls", 64);
  for (int t = 0; t < 64; ++t) {
    int count = t, other = t ^ 1;
    const auto next = [&](int by) {
      const int both = count + by + other + by;
      count = other = both;
      return both;
    };
    const int first = next(1), second = next(2), third = next(3), fourth = next(4);
    CHECK(out[static_cast<std::size_t>(t)] == first + second * 5 + (third - fourth * 3) * 7);
  }
}

TEST_CASE("an element that a lambda takes by reference, and changes by its other name") {
  const auto out = ran("element_by_reference", 64);
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == (t + (t ^ 1) + 200) * 100 + 14);
}

TEST_CASE("operators that change an object of each thread's own") {
  const auto out = ran("operators", 64, 3);
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == (3 + t) * 1000 + 3 + 2 * t);
}

TEST_CASE("objects that each thread changes by an operator or a conversion of their class") {
  const auto given = ran("changed_by_operators", 64);
  for (int t = 0; t < 64; ++t) {
    const int element = 3 + t, followed = t > 2 ? 6 : 5, asked = t > 4 ? 8 : 7, member = t > 6 ? 11 : 9, divided = 11 - t;
    const int sum = element + (t > 2 ? 5 : 0) + (t > 4 ? 1 : 0) + (t > 6 ? member : 0) + divided;
    const int combined = 13 + t + (t > 8 ? 0 : 100), grouped = t > 8 ? 115 : 15;
    CHECK(given[static_cast<std::size_t>(t)] ==
          sum + element + followed + asked + member + divided + combined * 1000 + grouped * 100000);
  }
}

TEST_CASE("objects that each thread changes by another object that refers to them") {
  const auto given = ran("changed_by_others", 64);
  for (int t = 0; t < 64; ++t) {
    const int added = 3 + t, restored = 5 + t, listed = 7 + 2 * t, kept = 9 + t, grouped = 1 + 2 * t + t;
    CHECK(given[static_cast<std::size_t>(t)] == added + restored * 100 + listed * 10000 + kept * 1000000 + grouped);
  }
}

TEST_CASE("lambdas that refer to variables, before and behind a barrier") {
  const auto out = ran("lambda_of_references", 64, 5);
  for (int t = 0; t < 64; ++t)
    CHECK(out[static_cast<std::size_t>(t)] == (t + 5 + t + 6) + (t + 11) * 10 + (t + 13) * 100 + (t + 13) * 1000);
}

TEST_CASE("names of a lambda's inner scopes") { CHECK(ran("scopes_of_lambda", 64) == ran("scopes_of_plain", 64)); }

TEST_CASE("functions with template arguments, chosen by ?:") {
  const auto width = static_cast<int>(warp_size());
  for (const int value : ran("chosen_sum", 64, 2)) CHECK(value == width * (width - 1) / 4);
  for (const int value : ran("chosen_sum", 64, 1)) CHECK(value == 2);
}

TEST_CASE("arguments that a lambda takes by reference and that have no address") {
  const auto out = ran("addressless", 64);
  for (int t = 0; t < 64; ++t) {
    const auto both = [&](int mine, int others) { return (mine + others) * 2 + t; };
    const int other = t ^ 1;
    CHECK(out[static_cast<std::size_t>(t)] == both(t, other) * 11 + both(t + 3, other + 3) * 100 + (t + other) * 1000);
  }
}

TEST_CASE("what is chosen by ?:, or named by a lambda's result, and changed") {
  const auto out = ran("changed_by_choice", 64);
  for (int t = 0; t < 64; ++t) {
    const int a = t > 5 ? t + 1 : t, b = t > 5 ? 3 : 4, c = t > 7 ? 9 : 0, put = t > 5 ? 1 : 5, called = t > 5 ? 2 : 6;
    CHECK(out[static_cast<std::size_t>(t)] == a + b * 100 + c * 1000 + put * 10000 + called * 100000);
  }
}

TEST_CASE("a part of the object whose function is called, by reference") {
  const auto out = ran("part_of_object", 64);
  for (int t = 0; t < 64; ++t) {
    const int first = t + 10, second = t + 20, sum = (2 + first) + (2 + (t ^ 1) + 10) + second;
    const int others = (2 + (t ^ 1) + 10) + (2 + first) + (t ^ 1) + 20;
    CHECK(out[static_cast<std::size_t>(t)] == first + second * 1000 + 2 * second * 100000 + sum + others);
  }
}

TEST_CASE("functions of a namespace with names of the language's") {
  const auto out = ran("own_maximum", 64);
  for (int t = 0; t < 64; ++t)
    CHECK(out[static_cast<std::size_t>(t)] == 150000 + (15 + std::max(t & 15, 3)) * 100 + std::max(t, 3));
}

TEST_CASE("several pointers to arrays in one declaration") {
  const auto out = ran("rows_of_rows", 64);
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == t % 32 * 100 + 33);
}

TEST_CASE("which memory an address is in, and numbers for addresses in shared and global memory") {
  for (const char* const kernel : {"memory_of_block", "memory_of_warps"}) {
    const auto out = upload(std::vector<int>(64));
    const LaunchConfig shape{.grid = {1}, .block = {64}, .shared_memory_bytes = 64 * sizeof(int)};
    launch(corpus("fine_print")->untyped_kernel(kernel), shape, out);
    CHECK(download(out) == std::vector<int>(64, 0221144));
  }
}

TEST_CASE("an empty array of dynamic shared memory and the end of an array are in shared memory") {
  const auto out = ran("memory_of_ends", 64);
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == 9 + 100 * (t ^ 1));
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::fine_print_test
