// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/drivers/trace.hpp"
#include "tests/unit/subprocess.hpp"

/// Stories told with a stand-in for one release of the HIP runtime.

namespace weir::test {

/// The stand-in for a release.
inline std::string fake(const std::string& release) {
  const std::string major = release == "incomplete" ? "6"
                            : release == "lacking"  ? "10"
                                                    : release.substr(0, release.find('.'));
  return std::string(WEIR_TEST_FAKE_HIP) + release + "/libamdhip64.so." + major;
}

/// What comes of the steps of story.cpp, with a script for the stand-in (script.hpp).
inline Outcome tell(const std::string& release, const std::string& script, const std::vector<std::string>& steps,
                    Environment environment = {}) {
  environment.try_emplace("WEIR_BACKEND", "hip");
  environment.try_emplace("WEIR_HIP_RUNTIME", fake(release));
  environment.try_emplace("WEIR_HIPRTC", "/nonexistent/libhiprtc.so");
  environment.try_emplace("WEIR_HIP_GRAPHS", "1");
  environment["WEIR_TEST_DRIVER"] = script;
  environment = with_mutation(std::move(environment));
  Outcome outcome = run(WEIR_TEST_STORY, steps, environment);
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.status == 0);
  return outcome;
}

}  // namespace weir::test

// Once: doctest would make the message while it holds its lock, and a failure within it would wait for that lock.
#define CHECK_SAYS(outcome, text)                  \
  do {                                             \
    const ::weir::test::Outcome& said = (outcome); \
    INFO(said.output, said.errors);                \
    CHECK(said.says(text));                        \
  } while (false)
