// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "result.hpp"

/// The result of a run: counts, the list of known failures, and the summary, as text and as JSON.
namespace conformance {

/// One line of a list of known failures.
struct KnownFailure {
  std::string backend;
  std::string version;    ///< a glob pattern for the driver's version
  std::string case_name;  ///< a glob pattern
  int line = 0;
  bool matched = false;  ///< whether a case of this suite has such a name
};

/// Reads a list. Throws `std::runtime_error` with file and line if the file cannot be read or has a wrong line.
std::vector<KnownFailure> read_known_failures(const std::string& file);

class Report final : public Sink {
 public:
  /// `required`: count an unusable device as a failure instead of a skip.
  Report(std::vector<KnownFailure> known, bool required) : known_(std::move(known)), required_(required) {}

  void subject(const Subject& subject) override { subject_ = subject; }
  void unusable(const std::string& why) override { unusable_ = why; }
  void began(const CaseResult& which) override;
  void ended(const CaseResult& result) override;
  void filtered(const std::string& name) override { (void)known_failure(name); }

  /// Returns the case that is running, or null.
  const CaseResult* running() const { return running_ ? &*running_ : nullptr; }
  int cases_begun() const { return begun_; }
  bool is_unusable() const { return !unusable_.empty(); }
  bool has_failed() const { return failed_ != 0; }

  /// Adds a failure of the run, not of a case.
  void fail(const std::string& what);

  /// Adds failures that only a whole run shows, and prints the summary. Its last line is "N passed, N failed, N skipped".
  /// Returns the exit status. Call it once.
  int finish();

  /// Return the finished report in other formats.
  std::string junit() const;
  std::string json() const;

 private:
  KnownFailure* known_failure(const std::string& name);
  void count(CaseResult result);

  std::vector<KnownFailure> known_;
  bool required_;
  Subject subject_;
  std::string unusable_;
  std::optional<CaseResult> running_;
  std::vector<CaseResult> results_;  // after known failures are taken into account
  int begun_ = 0;
  int passed_ = 0, failed_ = 0, skipped_ = 0, refused_ = 0;
};

}  // namespace conformance
