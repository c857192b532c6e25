// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/corpus.hpp"

/// Loops over what a thread owns.
namespace weir::test::loops_test {
namespace {

const ModulePtr& module() { return corpus("loops"); }

int turns(int begin) { return (1000 - begin + 63) / 64; }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("loops: a thread in the middle of its block that has nothing to do") {
  for (const char* name : {"k_own_bound", "k_bound_by_parameter"}) {
    CAPTURE(name);
    const auto out = upload(std::vector<int>(64));
    launch(module()->kernel(name), {1, 64}, out);
    for (int t = 0; t < 64; ++t) CHECK(out.data()[t] == (t == 5 ? 0 : turns(t)));
  }
}

TEST_CASE("loops: kernels of one name, of which one has a loop or a barrier") {
  const auto numbers = [](const char* name) {
    const auto out = upload(std::vector<int>(64));
    launch(module()->kernel(name), {1, 64}, out, 64);
    return download(out);
  };
  std::vector<int> rising, falling, turned;
  for (int t = 0; t < 64; ++t) {
    rising.push_back(64 + t);
    falling.push_back(64 - t);
    turned.push_back(63 - t);
  }
  CHECK(numbers("numbered<int>") == std::vector<int>(64, 1));
  CHECK(numbers("numbered<float>") == rising);
  CHECK(numbers("one::same") == falling);
  CHECK(numbers("two::same") == std::vector<int>(64, 2));
  CHECK(numbers("turned<2>") == std::vector<int>(64, 2));
  CHECK(numbers("turned<3>") == turned);
}

TEST_CASE("loops: what a loop began with changes while it runs") {
  const auto out = upload(std::vector<int>(64));
  launch(module()->kernel("k_moving_start"), {1, 64}, out);
  for (int t = 0; t < 64; ++t) {
    int sum = 0;
    for (int i = t; i < 1000; i += 64) sum += i;
    CHECK(out.data()[t] == 3 * sum);
  }
}

TEST_CASE("loops: blocks of a row, one by one or together") {
  constexpr int n = 10007;
  for (const unsigned grid : {1U, 3U, 5U, 37U}) {
    for (const unsigned block : {32U, 256U, 300U, 1024U}) {
      CAPTURE(grid);
      CAPTURE(block);
      std::vector<int> by_row, by_place;
      for (int i = 0; i < n; ++i) {
        by_row.push_back(i + static_cast<int>(block * 3 + grid * 7));
        by_place.push_back(i % static_cast<int>(grid * block) % static_cast<int>(block));
      }
      const auto ran = [&](const char* name) {
        const auto out = upload(std::vector<int>(n));
        launch(module()->kernel(name), {.grid = {grid}, .block = {block}}, out, n);
        return download(out);
      };
      CHECK(ran("k_by_row") == by_row);
      for (const char* name : {"k_by_place", "k_by_function", "k_by_group"}) CHECK(ran(name) == by_place);
    }
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test::loops_test
