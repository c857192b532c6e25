// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// What came of a case, and how it gets from the process that ran it to the one that reports.
namespace conformance {

enum class Outcome { passed, failed, skipped };

struct CaseResult {
  std::string name = {};
  std::string suite = {};
  std::string file = {};
  int line = 0;
  Outcome outcome = Outcome::failed;
  bool refused = false;                    ///< passed by asserting the refusal of a feature that the device lacks
  std::string why = {};                    ///< of a skip
  std::vector<std::string> failures = {};  ///< a text for each check that failed
  double seconds = 0;
};

/// The device under test.
struct Subject {
  std::string label, backend, version;
};

/// Takes what a run of the cases tells, in its order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void subject(const Subject& subject) = 0;
  /// There is no such device; nothing else follows.
  virtual void unusable(const std::string& why) = 0;
  virtual void began(const CaseResult& which) = 0;  ///< without an outcome yet
  virtual void ended(const CaseResult& result) = 0;
  /// A case that the command line's filters leave out.
  virtual void filtered(const std::string& name) = 0;
};

/// A sink that writes lines of JSON to a file descriptor, for `read_record`.
class RecordWriter final : public Sink {
 public:
  explicit RecordWriter(int descriptor) : descriptor_(descriptor) {}
  void subject(const Subject& subject) override;
  void unusable(const std::string& why) override;
  void began(const CaseResult& which) override;
  void ended(const CaseResult& result) override;
  void filtered(const std::string& name) override;

 private:
  void write(const std::string& line) const;
  int descriptor_;
};

/// Hands one line that a `RecordWriter` wrote on to a sink.
void read_record(const std::string& line, Sink& sink);

/// What doctest's listener tells goes here; null: nowhere. The sink must live until the cases have run.
void set_sink(Sink* sink);

}  // namespace conformance
