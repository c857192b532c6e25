// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/drivers/trace.hpp"
#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"

/// Runs scenarios with a stand-in for one release of the HIP runtime.

namespace weir::test {

/// A stand-in for one release.
inline std::string fake(const std::string& release) {
  const std::string major = release == "incomplete" ? "6"
                            : release == "lacking"  ? "10"
                                                    : release.substr(0, release.find('.'));
  return std::string(WEIR_TEST_FAKE_HIP) + release + "/libamdhip64.so." + major;
}

/// Returns the output of the steps of story.cpp, with a script for the stand-in (script.hpp).
inline Outcome tell(const std::string& release, const std::string& script, const std::vector<std::string>& steps,
                    Environment environment = {}) {
  environment.try_emplace("WEIR_BACKEND", "hip");
  environment.try_emplace("WEIR_HIP_RUNTIME", fake(release));
  environment.try_emplace("WEIR_HIPRTC", "/nonexistent/libhiprtc.so");
  environment.try_emplace("WEIR_ENABLE_FEATURES", "graph_capture");
  return run_story(with_mutation(std::move(environment)), script, steps);
}

}  // namespace weir::test
