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
