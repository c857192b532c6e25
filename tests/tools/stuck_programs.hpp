// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "weir/weir.hpp"

/// Programs that hang, and slow ones that do not.
namespace weir::test {

struct StuckProgram {
  const char* name;
  /// What must be told of it; "{a}" is what the program prints as "a=…". "circle: a b" is a circle of these, in that
  /// order, wherever it begins. Empty for a program that ends by itself.
  std::vector<const char*> says;
  void (*run)(Device& device);
};

std::span<const StuckProgram> deadlocks();
std::span<const StuckProgram> slow_programs();

}  // namespace weir::test
