// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "weir/weir.hpp"

/// Small programs, half of which lack an order. Each wrong one stands beside the right one that it should be.
namespace weir::test {

struct ToolProgram {
  const char* name;
  int reports;  ///< how many places the race detector must tell
  void (*run)(Device& device);
};

std::span<const ToolProgram> tool_programs();  ///< with these:
std::span<const ToolProgram> pipelines();
/// Those that single tests of a tool run.
std::span<const ToolProgram> other_programs();
std::span<const ToolProgram> witness_programs();
std::span<const ToolProgram> record_programs();

}  // namespace weir::test

#define WEIR_TEST_PAIR(program, reports) \
  {"right_" #program, 0, program<true>}, { "wrong_" #program, reports, program<false> }
