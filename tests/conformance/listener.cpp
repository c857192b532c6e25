// SPDX-License-Identifier: Apache-2.0
#include "listener.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <iostream>
#include <mutex>
#include <sstream>

#include "result.hpp"
#include "rows.hpp"
#include "support.hpp"

// Implements the listener for doctest's test cases.

namespace conformance {
namespace {

Sink* sink = nullptr;
Query query_kind = Query::none;
int counted = 0;

std::string text(const doctest::String& s) { return {s.c_str(), s.size()}; }

class Listener final : public doctest::IReporter {
 public:
  explicit Listener(const doctest::ContextOptions&) {}

  void report_query(const doctest::QueryData& query) override {
    if (query_kind == Query::list) list(query);
    if (query_kind == Query::count) counted = static_cast<int>(query.run_stats->numTestCasesPassingFilters);
  }
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override {
    (void)take_case_notes();
    const std::lock_guard lock(mutex_);
    case_ = {
        .name = data.m_name, .suite = data.m_test_suite, .file = data.m_file.c_str(), .line = static_cast<int>(data.m_line)};
    start_ = std::chrono::steady_clock::now();
    if (sink != nullptr) sink->began(case_);
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    const CaseNotes notes = take_case_notes();
    const std::lock_guard lock(mutex_);
    case_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    case_.refused = notes.refused;
    case_.why = notes.skipped;
    case_.outcome = stats.failure_flags != doctest::TestCaseFailureReason::None ? Outcome::failed
                    : notes.skipped.empty()                                     ? Outcome::passed
                                                                                : Outcome::skipped;
    // doctest tells of the end of a case that crashes, too. The process that ends with it is what the supervisor reports.
    if (sink != nullptr && !crashed_) sink->ended(case_);
  }
  void test_case_exception(const doctest::TestCaseException& e) override {
    const std::lock_guard lock(mutex_);
    if (e.is_crash) crashed_ = true;
    case_.failures.push_back((e.is_crash ? "it crashed: " : "it threw: ") + text(e.error_string));
  }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& data) override {
    if (!data.m_failed) return;
    std::ostringstream what;
    what << data.m_file << ':' << data.m_line << ": " << doctest::assertString(data.m_at) << "( " << data.m_expr << " )";
    if (data.m_threw) {
      what << " threw: " << data.m_exception.c_str();
    } else {
      what << " is " << data.m_decomp.c_str();
    }
    for (int i = 0; i < get_num_active_contexts(); ++i) {
      what << "; ";
      get_active_contexts()[i]->stringify(&what);
    }
    const std::lock_guard lock(mutex_);
    case_.failures.push_back(what.str());
  }
  void log_message(const doctest::MessageData& data) override {
    if ((data.m_severity & doctest::assertType::is_warn) != 0) return;
    const std::lock_guard lock(mutex_);
    case_.failures.push_back(std::string(data.m_file) + ":" + std::to_string(data.m_line) + ": " + text(data.m_string));
  }
  void test_case_skipped(const doctest::TestCaseData& data) override {
    if (sink != nullptr) sink->filtered(data.m_name);
  }

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

  std::mutex mutex_;  // checks of other threads, too, are told here
  CaseResult case_;
  bool crashed_ = false;
  std::chrono::steady_clock::time_point start_;
};

DOCTEST_REGISTER_LISTENER("conformance", 1, Listener);

}  // namespace

void set_sink(Sink* to) { sink = to; }

int run_query(Query kind, std::vector<const char*> arguments) {
  query_kind = kind;
  // doctest's own query, answered by the suite's listener in place of doctest's reporters.
  arguments.push_back(kind == Query::list ? "--list-test-cases" : "--count");
  arguments.push_back("--reporters=none");
  (void)doctest::Context(static_cast<int>(arguments.size()), arguments.data()).run();
  query_kind = Query::none;
  return counted;
}

}  // namespace conformance
