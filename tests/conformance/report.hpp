// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "result.hpp"

/// What came of a run: counts, the list of known failures, and the summary, for people and for programs.
namespace conformance {

/// One line of a list of known failures.
struct KnownFailure {
  std::string backend;
  std::string version;    ///< a glob over the driver's version
  std::string case_name;  ///< a glob
  int line = 0;
  bool matched = false;  ///< a case of this suite has such a name
};

/// Reads a list. Throws `std::runtime_error`, naming file and line, for a file that cannot be read, and for what does not
/// parse.
std::vector<KnownFailure> read_known_failures(const std::string& file);

class Report final : public Sink {
 public:
  /// `required`: a device that is not usable is a failure, and not a skip.
  Report(std::vector<KnownFailure> known, bool required) : known_(std::move(known)), required_(required) {}

  void subject(const Subject& subject) override { subject_ = subject; }
  void unusable(const std::string& why) override { unusable_ = why; }
  void began(const CaseResult& which) override;
  void ended(const CaseResult& result) override;
  void filtered(const std::string& name) override { (void)known_failure(name); }

  /// The case that has begun and not ended, or null.
  const CaseResult* running() const { return running_ ? &*running_ : nullptr; }
  int cases_begun() const { return begun_; }
  bool is_unusable() const { return !unusable_.empty(); }
  bool has_failed() const { return failed_ != 0; }

  /// A failure of the run rather than of a case.
  void fail(const std::string& what);

  /// Judges what only a whole run shows, prints the summary, whose last line is "N passed, N failed, N skipped", and returns
  /// the exit status. Called once.
  int finish();

  /// The finished report in other forms.
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
  std::vector<CaseResult> results_;  // as they count, known failures considered
  int begun_ = 0;
  int passed_ = 0, failed_ = 0, skipped_ = 0, refused_ = 0;
};

}  // namespace conformance
