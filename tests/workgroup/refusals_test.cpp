// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/workgroup/driver.hpp"

// Tests that the pass reports kernels that it does not transform, with their lines.

namespace {

std::string log_of_compiler() {
  std::ifstream file(std::string(std::getenv("WEIR_TEST_FOLDER")) + "/refused.log");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The line of "// here" in a kernel's body.
std::string marked_line(const std::string& kernel) {
  std::ifstream file(std::string(std::getenv("WEIR_TEST_SOURCES")) + "/refused.cu");
  int number = 0;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find("void " + kernel + "(") != std::string::npos) inside = true;
    if (inside && line.find("// here") != std::string::npos) break;
  }
  return std::to_string(number);
}

TEST_CASE("what is not understood is refused with its line, and the rest of the file is formed") {
  const std::string log = log_of_compiler();
  CAPTURE(log);
  const driver::Module module((std::string(std::getenv("WEIR_TEST_FOLDER")) + "/refused.so").c_str());
  for (const char* kernel : {"by_virtual_call", "by_recursion", "by_array", "by_flag", "by_lock", "by_lanes_in_a_loop"}) {
    CAPTURE(kernel);
    CHECK_FALSE(module.has(kernel));
    const std::size_t remark = log.find(std::string(kernel) + " runs on fibers");
    REQUIRE(remark != std::string::npos);
    const std::size_t line = log.rfind('\n', remark) + 1;
    CHECK(log.substr(line, remark - line).find("refused.cu:" + marked_line(kernel) + ":") != std::string::npos);
  }
  CHECK(log.find("by_size runs on fibers: each of its threads needs") != std::string::npos);
  CHECK(module.has("taken"));
  int next = 0, sum = 0;
  int *n = &next, *s = &sum;
  const int most = 1000;
  CHECK(module.launch("counting", {2}, {64}, {&n, &s, &most}).fault == "");
  CHECK(sum == most * (most - 1) / 2);
}

}  // namespace
