// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/run_program.hpp"

// Tests the ranges that the vendors' profilers receive, with stand-ins for the profilers.

namespace {

using weir::test::Environment;
using weir::test::Outcome;

/// What one profiler was told, without its name, separated by blanks.
std::string told(const Outcome& outcome, const std::string& profiler) {
  std::string all;
  for (std::size_t at = 0; at < outcome.errors.size();) {
    const std::size_t end = outcome.errors.find('\n', at);
    const std::string line = outcome.errors.substr(at, end - at);
    if (line.starts_with(profiler + " ")) all += line.substr(profiler.size() + 1) + ", ";
    at = end == std::string::npos ? end : end + 1;
  }
  return all;
}

constexpr const char* story =
    "push solver step, push Stream::fill, pop, push Stream::fill, pop, pop, push Stream::synchronize, pop, ";

/// Runs a program for a profiler. Checks that it got these texts.
void check_told(const std::string& profiler, const std::string& program, Environment environment,
                const std::vector<std::string>& texts) {
  if (profiler == "roctx") {
    const auto folder = std::filesystem::path(WEIR_TEST_ROCTX).parent_path().string();
    environment["LD_LIBRARY_PATH"] = weir::test::library_path(folder);
  } else {
    environment["NVTX_INJECTION64_PATH"] = WEIR_TEST_ROCTX;
  }
  environment["WEIR_TOOLS"] = "ranges";
  const Outcome outcome = weir::test::run_program(program, environment);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  for (const std::string& text : texts) CHECK(told(outcome, profiler).find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("ranges: roctx is told of ranges and operations, in their order, where its library is") {
  check_told("roctx", "right_halves", {}, {story});
}

#ifdef WEIR_HAS_NVTX
TEST_CASE("ranges: NVTX is told of ranges and operations, in their order, where a profiler is injected") {
  check_told("nvtx", "right_halves", {}, {story});
}
#endif

#if defined(WEIR_HAS_NVTX) && defined(WEIR_TEST_FAKE_CUDA)
TEST_CASE("ranges: NVTX is told the names of CUDA's streams and events") {
  check_told("nvtx", "a_named_stream", {{"WEIR_BACKEND", "cuda"}, {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA}},
             {"name copies, ", "event loaded, "});
}
#endif

#ifdef WEIR_TEST_FAKE_HIP
TEST_CASE("ranges: roctx is told the names of HIP's streams and events") {
  check_told(
      "roctx", "a_named_stream",
      {{"WEIR_BACKEND", "hip"}, {"WEIR_HIP_RUNTIME", WEIR_TEST_FAKE_HIP}, {"WEIR_HIPRTC", "/nonexistent/libhiprtc.so"}},
      {"name copies, ", "event loaded, "});
}
#endif

TEST_CASE("ranges: without a profiler the program runs as ever") {
  const Outcome outcome = weir::test::run_program("right_halves", {{"WEIR_TOOLS", "ranges"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.errors.empty());
}
