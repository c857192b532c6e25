// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace conformance {

/// Another process, with a pipe to its standard input and one from it.
class Process {
 public:
  /// Starts the program `arguments[0]`, which writes at the file descriptor `from`.
  Process(std::vector<std::string> arguments, int from);
  /// Kills the process if no one has waited for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  enum class Read { line, end, late };
  /// Reads the next line without its end, or what is left at the end; `late` if none is whole by the deadline.
  Read read(std::string& line, std::chrono::steady_clock::time_point deadline);
  void tell(const std::string& line) const;
  /// Waits for the end of the process, which it first kills if `kills`. Returns the status as waitpid gives it.
  int end(bool kills = false);

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string buffer_;
};

}  // namespace conformance
