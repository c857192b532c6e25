// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <doctest/doctest.h>
#include <fnmatch.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "rows.hpp"
#include "support.hpp"

namespace conformance {
namespace {

bool matches(const std::string& glob, const std::string& text) { return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

struct Results {
  std::string device_label, backend, version;
  std::vector<KnownFailure> known;
  bool listing = false;
  bool ran = false;
  int passed = 0, failed = 0, skipped = 0, refused = 0;
  std::vector<std::string> failures;               // cases, with what else there is to say
  std::vector<std::string> known_failures_seen;
  std::vector<std::pair<std::string, std::string>> skips;  // case and why
};
Results results;

// Ends the process if a case does not end, naming it: a hanging case would otherwise hide which one it is.
class Watch {
 public:
  ~Watch() { stop(); }

  void start(std::chrono::seconds limit) {
    limit_ = limit;
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void case_began(const char* name) {
    std::lock_guard lock(mutex_);
    name_ = name;
    deadline_ = std::chrono::steady_clock::now() + limit_;
    changed_.notify_all();
  }
  void case_ended() {
    std::lock_guard lock(mutex_);
    name_ = nullptr;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (name_ == nullptr) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && name_ != nullptr &&
                 std::chrono::steady_clock::now() >= deadline_) {
        std::fprintf(stderr, "\nweir-conformance: the case '%s' has not ended within %lld s; the run is given up\n", name_,
                     static_cast<long long>(limit_.count()));
        std::printf("\n%d passed, %d failed, %d skipped\n", results.passed, results.failed + 1, results.skipped);
        std::fflush(stdout);
        ::_exit(1);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::seconds limit_{300};
  std::chrono::steady_clock::time_point deadline_;
  const char* name_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};
Watch watch;

KnownFailure* known_failure(const std::string& name) {
  for (KnownFailure& k : results.known) {
    if (matches(k.case_name, name)) {
      k.matched = true;
      if (k.backend == results.backend && matches(k.version, results.version)) return &k;
    }
  }
  return nullptr;
}

class Listener final : public doctest::IReporter {
 public:
  explicit Listener(const doctest::ContextOptions&) {}

  void report_query(const doctest::QueryData& query) override {
    if (results.listing) list(query);
  }
  void test_run_start() override { results.ran = true; }
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override {
    (void)take_case_notes();
    name_ = data.m_name;
    watch.case_began(data.m_name);
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    watch.case_ended();
    const CaseNotes notes = take_case_notes();
    const KnownFailure* const known = known_failure(name_);
    const bool good = stats.failure_flags == doctest::TestCaseFailureReason::None;
    if (known != nullptr && !good) {
      ++results.skipped;
      results.known_failures_seen.push_back(name_);
    } else if (!good) {
      ++results.failed;
      results.failures.push_back(name_);
    } else if (known != nullptr && notes.skipped.empty()) {
      ++results.failed;
      results.failures.push_back(name_ + ": passes, and line " + std::to_string(known->line) +
                                 " of the known failures expects it to fail; strike it off");
    } else if (!notes.skipped.empty()) {
      ++results.skipped;
      results.skips.emplace_back(name_, notes.skipped);
    } else {
      ++results.passed;
      if (notes.refused) ++results.refused;
    }
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData& data) override { (void)known_failure(data.m_name); }

 private:
  static void list(const doctest::QueryData& query) {
    std::array<int, row_count + 1> covered{};
    for (unsigned i = 0; i < query.num_data; ++i) {
      const std::string name = query.data[i]->m_name;
      for (const int row : rows_of(name)) ++covered[static_cast<std::size_t>(row)];
      std::cout << '[' << query.data[i]->m_test_suite << "] " << name << '\n';
    }
    std::cout << '\n' << query.num_data << " cases\n";
    int missing = 0;
    for (int row = 1; row <= row_count; ++row) {
      const int cases = covered[static_cast<std::size_t>(row)];
      std::cout << 'S' << row << (row < 10 ? "   " : "  ") << row_title(row) << ": ";
      if (cases == 0) {
        std::cout << "not covered\n";
        ++missing;
      } else {
        std::cout << cases << (cases == 1 ? " case\n" : " cases\n");
      }
    }
    std::cout << row_count - missing << " of " << row_count << " rows covered, " << missing << " not covered\n";
  }

  std::string name_;
};

DOCTEST_REGISTER_LISTENER("conformance", 1, Listener);

}  // namespace

std::vector<KnownFailure> read_known_failures(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read the list of known failures '" + file + "'");
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
      throw std::runtime_error(file + ":" + std::to_string(number) + ": expected BACKEND VERSION-GLOB CASE-GLOB, got '" + line +
                               "'");
    }
    known.push_back(std::move(k));
  }
  return known;
}

void begin_report(std::string device_label, const std::string& backend_name, const std::string& version,
                  std::vector<KnownFailure> known, std::chrono::seconds case_limit) {
  results.device_label = std::move(device_label);
  results.backend = backend_name;
  results.version = version;
  results.known = std::move(known);
  watch.start(case_limit);
}

bool cases_were_run() { return results.ran; }

int end_report() {
  watch.stop();
  std::cout << "\nconformance of " << results.device_label << '\n';
  for (const auto& [name, why] : results.skips) std::cout << "  skipped (" << why << "): " << name << '\n';
  for (const std::string& name : results.known_failures_seen) std::cout << "  known failure, counted as skipped: " << name << '\n';
  for (const KnownFailure& k : results.known) {
    if (k.matched) continue;
    ++results.failed;
    results.failures.push_back("line " + std::to_string(k.line) + " of the known failures names no case: " + k.case_name);
  }
  if (results.passed + results.failed + results.skipped == 0) {
    ++results.failed;
    results.failures.emplace_back("no case matches the filters");
  }
  for (const std::string& name : results.failures) std::cout << "  FAILED: " << name << '\n';
  if (results.refused != 0) {
    std::cout << "  refused: of the cases that passed, " << results.refused
              << " asserted the refusal of a feature that the device lacks\n";
  }
  std::cout << results.passed << " passed, " << results.failed << " failed, " << results.skipped << " skipped" << std::endl;
  return results.failed == 0 ? 0 : 1;
}

void list_rows_instead_of_running() { results.listing = true; }

}  // namespace conformance
