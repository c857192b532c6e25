// SPDX-License-Identifier: Apache-2.0
#include "supervisor.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>

#include "process.hpp"
#include "tools/progress_line.hpp"

namespace conformance {
namespace {

std::string ending(int status) {
  return WIFSIGNALED(status)
             ? std::string("by signal ") + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")"
             : "with exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

std::optional<int> run_supervised(const std::vector<std::string>& arguments, int first, int last, int count,
                                  std::chrono::seconds limit, Report& report) {
  const std::string cases = "/" + std::to_string(std::max(0, (last == 0 ? count : std::min(last, count)) - first + 1));
  weir::tool::ProgressLine progress;
  for (;;) {
    const int begun_before = report.cases_begun();
    std::vector<std::string> command = arguments;
    command.push_back("--worker");
    command.push_back("--first=" + std::to_string(first));  // of several, doctest takes the last
    command[0] = "/proc/self/exe";
    Process worker(std::move(command), record_descriptor);
    std::string line;
    Process::Read read{};
    do {
      read = worker.read(line, std::chrono::steady_clock::now() + limit);
      if (read == Process::Read::line) read_record(line, report);
      if (const CaseResult* const running = report.running()) {
        progress.show("[" + std::to_string(report.cases_begun()) + cases + "] " + running->name);
      }
    } while (read == Process::Read::line);

    progress.clear();
    const bool hangs = read == Process::Read::late;
    if (hangs) std::cerr << "weir-conformance: not ended within " << limit.count() << " s, and given up" << std::endl;
    const int status = worker.end(hangs);
    if (!hangs && (status == 0 || report.is_unusable())) return std::nullopt;
    constexpr int exit_usage = 2;
    if (report.cases_begun() == 0 && WIFEXITED(status) && WEXITSTATUS(status) == exit_usage) return exit_usage;

    const std::string what = hangs ? "it has not ended within " + std::to_string(limit.count()) + " s: it hangs"
                                   : "it ended the process " + ending(status);
    if (report.running() == nullptr) {
      report.fail(report.cases_begun() == begun_before ? "before the first case: " + what : "behind the last case: " + what);
      return std::nullopt;
    }
    CaseResult result = *report.running();
    result.outcome = Outcome::failed;
    result.failures.push_back(what);
    if (hangs) result.seconds = static_cast<double>(limit.count());
    std::cerr << "weir-conformance: the case '" << result.name << "' failed: " << what
              << "; the rest runs in another process" << std::endl;
    report.ended(result);
    first += report.cases_begun() - begun_before;
    if (last != 0 && first > last) return std::nullopt;
  }
}

}  // namespace conformance
