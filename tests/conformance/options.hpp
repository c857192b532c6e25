// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// The options of the suite's command line.
namespace conformance {

struct Options {
  std::string backend;                ///< empty: the backend in WEIR_BACKEND
  std::string require;                ///< the value of --require=NAME, or empty
  std::optional<int> device;          ///< none: the device in WEIR_DEVICE, or 0 for a named backend
  std::string known_failures;         ///< a file, or empty
  int timeout_s = 300;                ///< time limit for one case
  std::string junit, json;            ///< files for reports, or empty
  int first = 1, last = 0;            ///< doctest's range of cases; 0: to the end
  bool one_process = false;           ///< run the cases in this process, without a time limit
  bool worker = false;                ///< this process runs the cases and reports to another one
  bool list = false;
  bool query = false;                 ///< an option of doctest is a query, so no case is run
  bool help = false;
  std::string child;                  ///< the role of a child process of a case; empty in other processes
  std::string child_argument;
  std::vector<std::string> doctest;   ///< arguments for doctest without `first`; the first one is the program's name
};

/// An invalid command line.
struct BadOptions : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws `BadOptions` for an option that neither the suite nor doctest has, because a misspelt --require must not be
/// ignored.
Options parse_options(int argc, const char* const* argv);

/// The text of --help.
extern const char* const usage;

}  // namespace conformance
