// SPDX-License-Identifier: Apache-2.0
#include "supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "tools/progress_line.hpp"

namespace conformance {
namespace {

using Clock = std::chrono::steady_clock;

// The process that runs the cases, and the pipe from it.
class Worker {
 public:
  explicit Worker(std::vector<std::string> arguments) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe to the process of the cases");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe[1], record_descriptor);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::cout.flush();
    const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    from_ = pipe[0];
    if (error != 0)
      throw std::runtime_error(std::string("the process of the cases cannot be started: ") + std::strerror(error));
  }
  ~Worker() {
    ::close(from_);
    if (pid_ > 0) (void)end();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  enum class Read { line, end, late };

  /// The next line; `late` if none is whole by the deadline.
  Read read(std::string& line, Clock::time_point deadline) {
    for (;;) {
      if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
        line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return Read::line;
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (left <= 0) return Read::late;
      pollfd p{from_, POLLIN, 0};
      const int ready = ::poll(&p, 1, static_cast<int>(std::min<long long>(left, 1 << 30)));
      if (ready <= 0) continue;
      std::array<char, 4096> bytes{};
      const ssize_t size = ::read(from_, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return Read::end;
      buffer_.append(bytes.data(), static_cast<std::size_t>(size));
    }
  }

  /// Waits for a process that has said all, or ends one that hangs; the status as waitpid gives it.
  int end(bool hangs = true) {
    if (hangs) ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
  std::string buffer_;
};

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
    Worker worker(std::move(command));
    std::string line;
    Worker::Read read = Worker::Read::line;
    do {
      read = worker.read(line, Clock::now() + limit);
      if (read == Worker::Read::line) read_record(line, report);
      if (const CaseResult* const running = report.running()) {
        progress.show("[" + std::to_string(report.cases_begun()) + cases + "] " + running->name);
      }
    } while (read == Worker::Read::line);

    progress.clear();
    const bool hangs = read == Worker::Read::late;
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
