// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "weir/weir.hpp"

/// Programs that hang, and slow programs that do not hang.
namespace weir::test {

struct StuckProgram {
  const char* name;
  /// The required report; "{a}" stands for what the program prints as "a=…". "circle: a b" is a circle of these in that
  /// order, beginning anywhere. Empty for a program that ends by itself.
  std::vector<const char*> says;
  void (*run)(Device& device);
};

std::span<const StuckProgram> deadlocks();
std::span<const StuckProgram> slow_programs();

}  // namespace weir::test
