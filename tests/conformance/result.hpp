// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// The result of a case, and its transfer from the process that ran the case to the process that reports it.
namespace conformance {

enum class Outcome { passed, failed, skipped };

struct CaseResult {
  std::string name = {};
  std::string suite = {};
  std::string file = {};
  int line = 0;
  Outcome outcome = Outcome::failed;
  bool refused = false;                    ///< passed because it asserted the refusal of a feature that the device lacks
  std::string why = {};                    ///< the reason of a skip
  std::vector<std::string> failures = {};  ///< a text for each check that failed
  double seconds = 0;
};

/// The device under test.
struct Subject {
  std::string label, backend, version;
};

/// Receives the events of a run of the cases, in their order.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void subject(const Subject& subject) = 0;
  /// The device does not exist. No other call follows.
  virtual void unusable(const std::string& why) = 0;
  virtual void began(const CaseResult& which) = 0;  ///< without an outcome yet
  virtual void ended(const CaseResult& result) = 0;
  /// The command line's filters exclude this case.
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

/// Passes one line of a `RecordWriter` to a sink.
void read_record(const std::string& line, Sink& sink);

/// Sets the sink for the events of doctest's listener; null for none. The sink must exist until the cases have run.
void set_sink(Sink* sink);

}  // namespace conformance
