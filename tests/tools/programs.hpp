// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "weir/weir.hpp"

/// Small programs, half of which lack a wait. Each wrong program is next to its correct version.
namespace weir::test {

struct ToolProgram {
  const char* name;
  int reports;  ///< number of places that the race detector must report
  void (*run)(Device& device);
};

std::span<const ToolProgram> tool_programs();  ///< including these:
std::span<const ToolProgram> pipelines();
/// Programs for single tests of a tool.
std::span<const ToolProgram> other_programs();
std::span<const ToolProgram> witness_programs();
std::span<const ToolProgram> record_programs();

}  // namespace weir::test

#define WEIR_TEST_PAIR(program, reports) \
  {"right_" #program, 0, program<true>}, { "wrong_" #program, reports, program<false> }
