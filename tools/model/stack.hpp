// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Call stacks: taken as addresses, shown as names and lines.
namespace weir::model {

/// Addresses of code. Of a program in another language (`CallerScope`): null, and the addresses of `Frame`s that stay.
using Stack = std::vector<const void*>;

/// The calling thread's stack, innermost first.
Stack take_stack();

struct Frame {
  std::string function;  ///< "main", or "?"
  std::string place;     ///< "src/step.cpp:12", or the file of the code and the offset in it
  friend auto operator<=>(const Frame&, const Frame&) = default;
};

/// Without what lies in Weir. Functions that were inlined have frames of their own, where the program has debug information.
std::vector<Frame> frames_of(const Stack& stack);
/// Lines "      #0 function place" of the frames that are the program's own: without those of Weir's headers and of the C++
/// library in between, unless there are no others.
std::string text_of(const std::vector<Frame>& frames);

}  // namespace weir::model
