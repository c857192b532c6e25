// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// The suite's own command line.
namespace conformance {

struct Options {
  std::string backend;                ///< empty: what WEIR_BACKEND chooses
  std::string require;                ///< as --require=NAME gave it, or empty
  std::optional<int> device;          ///< none: what WEIR_DEVICE chooses, or 0 of a named backend
  std::string known_failures;         ///< a file, or empty
  int timeout_s = 300;                ///< how long one case may take
  std::string junit, json;            ///< files for reports, or empty
  int first = 1, last = 0;            ///< doctest's range of cases; 0: to the end
  bool one_process = false;           ///< the cases run in this process, without a time limit
  bool worker = false;                ///< this process runs the cases and tells another what becomes of them
  bool list = false;
  bool query = false;                 ///< an option of doctest's answers in place of running cases
  bool help = false;
  std::string child;                  ///< a child process of a case: which one
  std::string child_argument;
  std::vector<std::string> doctest;   ///< what is left for doctest but `first`, the program's name first
};

/// A command line that cannot be meant.
struct BadOptions : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws `BadOptions` for an option that neither the suite nor doctest has: a mistyped --require must not pass unseen.
Options parse_options(int argc, const char* const* argv);

/// The text of --help.
extern const char* const usage;

}  // namespace conformance
