// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Cases that need another process: the suite starts itself anew, with the part that the child has to play.
namespace conformance {

/// How a child ended, and what it wrote.
struct ChildResult {
  bool exited = false;  ///< by itself; else a signal ended it
  int status = 0;       ///< the exit status, or the signal
  std::string output;
};

/// Plays the part `name` in a child process and returns its exit status.
int play_child(const std::string& name, const std::string& argument);

/// How children find the device under test: the program and the options that choose it.
void set_child_command(std::vector<std::string> command);

}  // namespace conformance
