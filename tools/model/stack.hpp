// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Call stacks: taken as addresses, shown as names and lines.
namespace weir::model {

/// A call stack as code addresses. If the program is in another language (`CallerScope`): null, then addresses of permanent
/// `Frame`s.
using Stack = std::vector<const void*>;

/// Returns the calling thread's stack, innermost first.
Stack take_stack();

struct Frame {
  std::string function;  ///< "main", or "?"
  std::string place;     ///< "src/step.cpp:12", or the binary file and an offset in it
  friend auto operator<=>(const Frame&, const Frame&) = default;
};

/// Returns the frames outside Weir. Inlined functions have their own frames if the program has debug information.
std::vector<Frame> frames_of(const Stack& stack);
/// Returns a line "      #0 function place" for each frame of the program. Frames of Weir's headers and of the C++ library
/// are left out unless there are no others.
std::string text_of(const std::vector<Frame>& frames);

}  // namespace weir::model
