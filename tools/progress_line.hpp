// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

/// A line that shows the progress of a command.
namespace weir::tool {

/// A line of progress on standard error that is rewritten in place. If standard error is not a terminal, nothing is written.
/// Output of other programs appears after the line and is not erased.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string text) {
    if (!is_terminal_) return;
    constexpr std::size_t longest = 70;  // a line that wraps cannot be rewritten
    if (text.size() > longest) text.resize(longest);
    write("\r" + text + " \033[K");
    is_shown_ = true;
  }

  /// Erases the line. Call this before other text is written.
  void clear() {
    if (is_shown_) write("\r\033[K");
    is_shown_ = false;
  }

 private:
  static bool can_rewrite() {
    const char* const terminal = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
  }
  static void write(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }

  bool is_terminal_ = can_rewrite();
  bool is_shown_ = false;
};

}  // namespace weir::tool
