// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/workgroup/driver.hpp"

// Tests that the thread index is right in C++ code that hides its use. The kernels are in language/.

namespace {

TEST_CASE("what C++ can hide does not matter: each thread's kernel k writes its index") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(std::getenv("WEIR_TEST_FOLDER")) + "/language")) {
    if (entry.path().extension() != ".so") continue;
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    const driver::Module module(entry.path().c_str());
    std::vector<int> out(64, -7);
    int* o = out.data();
    CHECK(module.launch("k", {1}, {64}, {&o}).fault == "");
    for (int t = 0; t < 64; ++t) REQUIRE(out[t] == t);
    ++count;
  }
  CHECK(count == 22);
}

}  // namespace
