// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fnmatch.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "rows.hpp"

// Writes the report of a run as text and as JSON.

namespace conformance {
namespace {

constexpr int exit_passed = 0, exit_failed = 1, exit_skipped = 77;

bool matches(const std::string& glob, const std::string& text) { return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

const char* word(Outcome outcome) {
  return outcome == Outcome::passed ? "passed" : outcome == Outcome::failed ? "failed" : "skipped";
}

// XML has no way to write most control characters.
std::string xml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\n': escaped += "&#10;"; break;
      default: escaped += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  return escaped;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "\n") + text;
  return all;
}

}  // namespace

std::vector<KnownFailure> read_known_failures(const std::string& file) {
  std::ifstream in(file);
  // A folder can be opened, and read as an empty file.
  if (!in || (in.peek(), in.bad())) throw std::runtime_error("cannot read the list of known failures '" + file + "'");
  in.clear();
  std::vector<KnownFailure> known;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    KnownFailure k;
    k.line = number;
    if (!(words >> k.backend) || k.backend.front() == '#') continue;
    words >> k.version >> std::ws;
    std::getline(words, k.case_name);
    while (!k.case_name.empty() && (k.case_name.back() == ' ' || k.case_name.back() == '\r')) k.case_name.pop_back();
    if (k.case_name.empty()) {
      throw std::runtime_error(file + ":" + std::to_string(number) + ": expected BACKEND VERSION-GLOB CASE-GLOB, got '" +
                               line + "'");
    }
    known.push_back(std::move(k));
  }
  return known;
}

KnownFailure* Report::known_failure(const std::string& name) {
  for (KnownFailure& k : known_) {
    if (matches(k.case_name, name)) {
      k.matched = true;
      if (k.backend == subject_.backend && matches(k.version, subject_.version)) return &k;
    }
  }
  return nullptr;
}

void Report::began(const CaseResult& which) {
  running_ = which;
  ++begun_;
}

void Report::ended(const CaseResult& result) {
  running_.reset();
  const KnownFailure* const known = known_failure(result.name);
  CaseResult judged = result;
  if (known != nullptr && judged.outcome == Outcome::failed) {
    judged.outcome = Outcome::skipped;
    judged.why = "known failure";
  } else if (known != nullptr && judged.outcome == Outcome::passed) {
    judged.outcome = Outcome::failed;
    judged.failures.push_back("it passes, and line " + std::to_string(known->line) +
                              " of the known failures expects it to fail; strike it off");
  }
  count(std::move(judged));
}

void Report::count(CaseResult result) {
  ++(result.outcome == Outcome::passed ? passed_ : result.outcome == Outcome::failed ? failed_ : skipped_);
  if (result.outcome == Outcome::passed && result.refused) ++refused_;
  results_.push_back(std::move(result));
}

void Report::fail(const std::string& what) { count({.name = what, .suite = "run", .failures = {what}}); }

int Report::finish() {
  if (!unusable_.empty()) {
    std::cout << (required_ ? "required and not usable: " : "skipped: ") << unusable_ << '\n';
    CaseResult device{.name = "the device is usable", .suite = "run"};
    device.outcome = required_ ? Outcome::failed : Outcome::skipped;
    (required_ ? device.failures.emplace_back() : device.why) = unusable_;
    count(std::move(device));
    std::cout << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped" << std::endl;
    return required_ ? exit_failed : exit_skipped;
  }
  for (const KnownFailure& k : known_) {
    if (!k.matched) fail("line " + std::to_string(k.line) + " of the known failures names no case: " + k.case_name);
  }
  std::cout << "\nconformance of " << subject_.label << '\n';
  for (const CaseResult& r : results_) {
    if (r.outcome == Outcome::skipped) std::cout << "  skipped (" << r.why << "): " << r.name << '\n';
  }
  for (const CaseResult& r : results_) {
    if (r.outcome != Outcome::failed) continue;
    std::cout << "  FAILED: " << r.name << '\n';
    // Checks that failed were told as they did. What is said here alone is about the case as a whole.
    if (r.suite != "run" && !r.failures.empty() && r.failures.back().starts_with("it ")) {
      std::cout << "    " << r.failures.back() << '\n';
    }
  }
  if (refused_ != 0) {
    std::cout << "  refused: of the cases that passed, " << refused_
              << " asserted the refusal of a feature that the device lacks\n";
  }
  std::cout << passed_ << " passed, " << failed_ << " failed, " << skipped_ << " skipped" << std::endl;
  return failed_ == 0 ? exit_passed : exit_failed;
}

std::string Report::junit() const {
  double seconds = 0;
  for (const CaseResult& r : results_) seconds += r.seconds;
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"weir-conformance "
      << xml(subject_.label) << "\" tests=\"" << results_.size() << "\" failures=\"" << failed_
      << "\" errors=\"0\" skipped=\"" << skipped_ << "\" time=\"" << seconds << "\">\n";
  for (const CaseResult& r : results_) {
    out << "    <testcase classname=\"" << xml(r.suite) << "\" name=\"" << xml(r.name) << "\" time=\"" << r.seconds << '"';
    if (!r.file.empty()) out << " file=\"" << xml(r.file) << "\" line=\"" << r.line << '"';
    if (r.outcome == Outcome::passed) {
      out << "/>\n";
      continue;
    }
    out << ">\n      ";
    if (r.outcome == Outcome::skipped) {
      out << "<skipped message=\"" << xml(r.why) << "\"/>\n";
    } else {
      out << "<failure message=\"" << xml(r.failures.empty() ? "" : r.failures.back()) << "\">" << xml(joined(r.failures))
          << "</failure>\n";
    }
    out << "    </testcase>\n";
  }
  out << "  </testsuite>\n</testsuites>\n";
  return out.str();
}

std::string Report::json() const {
  using Json = nlohmann::ordered_json;
  Json report = {{"device", subject_.label},    {"backend", subject_.backend}, {"version", subject_.version},
                 {"usable", unusable_.empty()}, {"passed", passed_},           {"failed", failed_},
                 {"skipped", skipped_},         {"refused", refused_},         {"cases", Json::array()}};
  for (const CaseResult& r : results_) {
    report["cases"].push_back({{"name", r.name},
                               {"suite", r.suite},
                               {"rows", rows_of(r.name)},
                               {"outcome", word(r.outcome)},
                               {"refused", r.refused},
                               {"why", r.why},
                               {"failures", r.failures},
                               {"seconds", r.seconds},
                               {"file", r.file},
                               {"line", r.line}});
  }
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace conformance
