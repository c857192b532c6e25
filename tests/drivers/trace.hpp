// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/subprocess.hpp"

/// Runs scenarios with a stand-in for a driver library, and reads its trace: the calls that it received.
namespace weir::test {

/// The output of the steps of story.cpp, with a script for the stand-in (script.hpp).
inline Outcome run_story(Environment environment, const std::string& script, const std::vector<std::string>& steps) {
  environment["WEIR_TEST_DRIVER"] = script;
  Outcome outcome = run(WEIR_TEST_STORY, steps, environment);
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.status == 0);
  return outcome;
}

/// Returns the environment, with the mutation that ci/mutations.sh has selected, if it runs this.
inline Environment with_mutation(Environment environment) {
  if (const char* const mutation = std::getenv("WEIR_TEST_MUTATION"))
    environment.try_emplace("WEIR_TEST_MUTATION", mutation);
  return environment;
}

/// Returns how often a call is in the trace with arguments that begin in this way.
inline int calls(const Outcome& outcome, const std::string& call) { return count("call " + call + " ", outcome.errors); }

/// Whether these calls are in the trace in this order, with or without others in between.
inline bool in_order(const Outcome& outcome, const std::vector<std::string>& names) {
  std::size_t at = 0;
  for (const std::string& name : names) {
    at = outcome.errors.find("call " + name + " ", at);
    if (at == std::string::npos) return false;
    ++at;
  }
  return true;
}

/// Returns the trace from the first call of that name on; empty if there is none.
inline Outcome since(Outcome outcome, const std::string& name) {
  outcome.errors.erase(0, outcome.errors.find("call " + name + " "));
  return outcome;
}

/// Returns the calls between the first two marks (the step "mark" of a story).
inline Outcome between_marks(const Outcome& outcome) {
  Outcome between = since(outcome, "mark");
  between.errors.erase(0, 1);
  between.errors.erase(between.errors.find("call mark "));
  return between;
}

}  // namespace weir::test
