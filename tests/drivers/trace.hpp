// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/subprocess.hpp"

/// What a stand-in for a driver library was called for, from its trace.
namespace weir::test {

/// The environment with what ci/mutations.sh has the backend do wrong, if that is who runs this.
inline Environment with_mutation(Environment environment) {
  if (const char* const mutation = std::getenv("WEIR_TEST_MUTATION"))
    environment.try_emplace("WEIR_TEST_MUTATION", mutation);
  return environment;
}

/// How often a call is in the trace, with the given beginning of its arguments.
inline int calls(const Outcome& outcome, const std::string& call) { return count("call " + call + " ", outcome.errors); }

/// Whether these calls are in the trace in this order, whatever lies between them.
inline bool in_order(const Outcome& outcome, const std::vector<std::string>& names) {
  std::size_t at = 0;
  for (const std::string& name : names) {
    at = outcome.errors.find("call " + name + " ", at);
    if (at == std::string::npos) return false;
    ++at;
  }
  return true;
}

/// The same without what was called before the first call of that name; without anything if there is none.
inline Outcome since(Outcome outcome, const std::string& name) {
  outcome.errors.erase(0, outcome.errors.find("call " + name + " "));
  return outcome;
}

/// What was called between the first two marks (the story's step "mark").
inline Outcome between_marks(const Outcome& outcome) {
  Outcome between = since(outcome, "mark");
  between.errors.erase(0, 1);
  between.errors.erase(between.errors.find("call mark "));
  return between;
}

}  // namespace weir::test
