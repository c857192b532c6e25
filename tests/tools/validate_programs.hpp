// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "weir/weir.hpp"

/// Programs that pass wrong memory to operations. Each wrong program is next to its correct version.
namespace weir::test {

struct ValidateProgram {
  const char* name;
  const char* says;  ///< the tool's report; null for a correct program
  void (*run)(Device& device);
  const char* options = "throw";  ///< the value of WEIR_VALIDATE
};

std::span<const ValidateProgram> validate_programs();
/// Programs that work on a GPU, for the host backend.
std::span<const ValidateProgram> pageable_programs();
/// Programs whose mistakes are reported only on request.
std::span<const ValidateProgram> unwritten_and_leaking_programs();

}  // namespace weir::test
