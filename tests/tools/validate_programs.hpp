// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "weir/weir.hpp"

/// Programs that give operations the wrong memory. Each wrong one stands beside the right one that it should be.
namespace weir::test {

struct ValidateProgram {
  const char* name;
  const char* says;  ///< what the tool says of it; null for a right one
  void (*run)(Device& device);
  const char* options = "throw";  ///< WEIR_VALIDATE
};

std::span<const ValidateProgram> validate_programs();
/// Those that a GPU runs right: for the host.
std::span<const ValidateProgram> pageable_programs();
/// Those whose mistakes are told on request.
std::span<const ValidateProgram> unwritten_and_leaking_programs();

}  // namespace weir::test
