// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
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

/// Each file adds its own programs.
inline std::vector<StuckProgram>& deadlocks() {
  static std::vector<StuckProgram> all;
  return all;
}
inline std::vector<StuckProgram>& slow_programs() {
  static std::vector<StuckProgram> all;
  return all;
}

struct AddStuckProgram {
  AddStuckProgram(std::vector<StuckProgram>& to, StuckProgram program) { to.push_back(std::move(program)); }
};

}  // namespace weir::test
