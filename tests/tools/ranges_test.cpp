// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/unit/subprocess.hpp"

// Tests the ranges that the vendors' profilers receive, with stand-ins for the profilers.

namespace {

using weir::test::Environment;
using weir::test::Outcome;

Outcome run_ranges(Environment environment) {
  environment.insert({{"WEIR_BACKEND", "host"}, {"WEIR_TOOLS", "ranges"}});
  return weir::test::run(WEIR_TEST_PROGRAMS, {"right_halves"}, environment);
}

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

}  // namespace

TEST_CASE("ranges: roctx is told of ranges and operations, in their order, where its library is") {
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  const Outcome o = run_ranges({{"LD_LIBRARY_PATH", std::filesystem::path(WEIR_TEST_ROCTX).parent_path().string() + ":" +
                                                 (folders != nullptr ? folders : "")}});
  CAPTURE(o.errors);
  CHECK(o.status == 0);
  CHECK(told(o, "roctx").find(story) != std::string::npos);
}

#ifdef WEIR_HAS_NVTX
TEST_CASE("ranges: NVTX is told of ranges and operations, in their order, where a profiler is injected") {
  const Outcome o = run_ranges({{"NVTX_INJECTION64_PATH", WEIR_TEST_ROCTX}});
  CAPTURE(o.errors);
  CHECK(o.status == 0);
  CHECK(told(o, "nvtx").find(story) != std::string::npos);
}
#endif

#if defined(WEIR_HAS_NVTX) && defined(WEIR_TEST_FAKE_CUDA)
TEST_CASE("ranges: NVTX is told the names of CUDA's streams and events") {
  const Outcome o = weir::test::run(WEIR_TEST_PROGRAMS, {"a_named_stream"},
                                    {{"WEIR_BACKEND", "cuda"},
                                     {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA},
                                     {"WEIR_TOOLS", "ranges"},
                                     {"NVTX_INJECTION64_PATH", WEIR_TEST_ROCTX}});
  CAPTURE(o.errors);
  CHECK(o.status == 0);
  CHECK(told(o, "nvtx").find("name copies, ") != std::string::npos);
  CHECK(told(o, "nvtx").find("event loaded, ") != std::string::npos);
}
#endif

#ifdef WEIR_TEST_FAKE_HIP
TEST_CASE("ranges: roctx is told the names of HIP's streams and events") {
  const char* const folders = std::getenv("LD_LIBRARY_PATH");
  const Outcome o = weir::test::run(WEIR_TEST_PROGRAMS, {"a_named_stream"},
                                    {{"WEIR_BACKEND", "hip"},
                                     {"WEIR_HIP_RUNTIME", WEIR_TEST_FAKE_HIP},
                                     {"WEIR_HIPRTC", "/nonexistent/libhiprtc.so"},
                                     {"WEIR_TOOLS", "ranges"},
                                     {"LD_LIBRARY_PATH", std::filesystem::path(WEIR_TEST_ROCTX).parent_path().string() +
                                                             ":" + (folders != nullptr ? folders : "")}});
  CAPTURE(o.errors);
  CHECK(o.status == 0);
  CHECK(told(o, "roctx").find("name copies, ") != std::string::npos);
  CHECK(told(o, "roctx").find("event loaded, ") != std::string::npos);
}
#endif

TEST_CASE("ranges: without a profiler the program runs as ever") {
  const Outcome o = run_ranges({});
  CHECK(o.status == 0);
  CHECK(o.errors.empty());
}
