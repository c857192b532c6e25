// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

/// What came of a run: counts, the list of known failures, the listing of cases, and the watch over cases that do not end.
namespace conformance {

/// One line of a list of known failures.
struct KnownFailure {
  std::string backend;
  std::string version;    ///< a glob over the driver's version
  std::string case_name;  ///< a glob
  int line = 0;
  bool matched = false;   ///< a case of this suite has such a name
};

/// Reads a list. Throws `std::runtime_error`, naming file and line, for what does not parse.
std::vector<KnownFailure> read_known_failures(const std::string& file);

/// Says which device is tested and which failures are known on it; before the run.
void begin_report(std::string device_label, const std::string& backend, const std::string& version,
                  std::vector<KnownFailure> known, std::chrono::seconds case_limit);

/// Whether cases were run at all, rather than counted or listed by an option of doctest's.
bool cases_were_run();

/// Prints the summary, whose last line is "N passed, N failed, N skipped", and returns the exit status. A run whose filters
/// match no case has failed: it shows nothing.
int end_report();

/// Makes doctest's list query print cases with their rows, and the rows that are covered.
void list_rows_instead_of_running();

}  // namespace conformance
