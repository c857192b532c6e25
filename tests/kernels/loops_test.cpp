// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/corpus.hpp"

/// Loops over what a thread owns.
namespace weir::test {
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

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test
