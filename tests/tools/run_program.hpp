// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/subprocess.hpp"

/// Runs the programs of the tests of tools.
namespace weir::test {

/// LD_LIBRARY_PATH with this folder first.
inline std::string library_path(const std::string& folder) {
  const char* const others = std::getenv("LD_LIBRARY_PATH");
  return folder + ":" + (others != nullptr ? others : "");
}

#ifdef WEIR_TEST_BRIDGE
/// HIP's backend over a CUDA driver on the CPU, whose streams are threads.
inline Environment bridge(Environment more) {
  more.insert({{"WEIR_BACKEND", "hip"},
               {"WEIR_HIP_RUNTIME", WEIR_TEST_BRIDGE},
               {"LD_LIBRARY_PATH", library_path(WEIR_TEST_CPU_CUDA)}});
  return more;
}
#endif

#ifdef WEIR_TEST_PROGRAMS
/// Runs programs of weir_tool_programs in one process, on the host if the environment names no backend.
inline Outcome run_programs(const std::vector<std::string>& programs, Environment environment) {
  environment.try_emplace("WEIR_BACKEND", "host");
  return run(WEIR_TEST_PROGRAMS, programs, environment);
}
inline Outcome run_program(const std::string& program, const Environment& environment) {
  return run_programs({program}, environment);
}
#endif

}  // namespace weir::test
