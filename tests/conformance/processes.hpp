// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// Cases that need another process. The suite starts itself again, with an option that selects the child's role.
namespace conformance {

/// The end of a child process, and its output.
struct ChildResult {
  bool exited = false;  ///< whether it exited by itself; otherwise a signal ended it
  int status = 0;       ///< the exit status, or the signal
  std::string output;
};

/// Runs the role `name` in a child process. Returns its exit status.
int play_child(const std::string& name, const std::string& argument);

/// Sets the program and the options with which child processes find the device under test.
void set_child_command(std::vector<std::string> command);

}  // namespace conformance
