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
  bool list = false;
  bool help = false;
  std::string child;                  ///< a child process of a case: which one
  std::string child_argument;
  std::vector<std::string> doctest;   ///< what is left for doctest, the program's name first
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
