// SPDX-License-Identifier: Apache-2.0
#include "shake.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "../progress_line.hpp"
#include "weir/plugin/waits.hpp"

namespace weir::tool {
namespace {

volatile std::sig_atomic_t target = 0;  // of kill: the run and what it has started

void end_with(int signal) {
  if (target != 0) ::kill(static_cast<pid_t>(target), signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Starts a run that signals reach with all that it starts, as a group. From a terminal only the first group may read, so
/// there the run stays in this one. Returns 0 or the error.
int start(char** argv) {
  posix_spawnattr_t attributes;
  if (const int error = ::posix_spawnattr_init(&attributes); error != 0) return error;
  const bool own_group = ::isatty(STDIN_FILENO) == 0;
  if (own_group) ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], nullptr, &attributes, argv, environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) target = own_group ? -child : child;
  return error;
}

/// The status that the run ends with. Kills it, and returns nothing, if it takes longer.
std::optional<int> wait(std::chrono::seconds timeout) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  const auto child = static_cast<pid_t>(std::abs(target));
  const Clock::time_point end = Clock::now() + timeout;
  int status = 0;
  bool in_time = true;
  for (auto pause = 1ms;; pause = std::min(2 * pause, 20ms)) {
    const bool may_take_longer = in_time && timeout != 0s;
    const pid_t ended = ::waitpid(child, &status, may_take_longer ? WNOHANG : 0);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) break;
    if (!may_take_longer) continue;
    in_time = Clock::now() < end;
    if (in_time) {
      std::this_thread::sleep_for(pause);
    } else {
      ::kill(static_cast<pid_t>(target), SIGKILL);
    }
  }
  target = 0;
  return in_time ? std::optional(status) : std::nullopt;
}

}  // namespace

int shake_program(const ShakeOptions& options) {
  std::vector<std::string> words = options.command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // The host backend has schedules of its own; elsewhere a tool holds streams back.
  std::string setting = "WEIR_BACKEND=" + options.backend;
  ::setenv("WEIR_BACKEND", options.backend.c_str(), 1);
  if (options.backend != "host") {
    ::setenv("WEIR_TOOLS", "shake", 1);
    setting += " WEIR_TOOLS=shake";
  }
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    if (std::signal(signal, end_with) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGCHLD, SIG_DFL);  // where it is ignored, nobody learns how a run ends
  std::string failed, first_failed;
  const char* again = "fails";
  unsigned failures = 0;
  ProgressLine progress;
  for (unsigned i = 0; i < options.seeds; ++i) {
    std::string seed = std::to_string(options.first + i);
    if (options.schedule == "pct") seed.insert(0, "pct:");
    if (options.depth != 0) seed += ":" + std::to_string(options.depth);
    ::setenv("WEIR_SCHEDULE", seed.c_str(), 1);
    progress.show("[" + std::to_string(i + 1) + "/" + std::to_string(options.seeds) + ", " + std::to_string(failures) +
                  " failed]");
    if (const int error = start(argv.data()); error != 0) {
      progress.clear();
      std::fprintf(stderr, "weir: cannot run '%s': %s\n", argv[0], std::strerror(error));
      return error == ENOENT ? 127 : 126;
    }
    const std::optional<int> status = wait(std::chrono::seconds(options.timeout));
    if (status == 0) continue;
    ++failures;
    failed += " " + seed;
    if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == support::deadlock_status) failed += " (deadlock)";
    if (!status) {
      failed += " (hung)";
      progress.clear();
      std::fprintf(stderr, "weir shake: schedule %s hung: the run was killed after %u s\n", seed.c_str(), options.timeout);
    }
    if (!first_failed.empty()) continue;
    first_failed = seed;
    if (!status) again = "hangs";
  }
  progress.clear();
  std::fprintf(stderr, "weir shake: %u of %u schedules failed%s%s\n", failures, options.seeds, failures != 0 ? ":" : "",
               failed.c_str());
  if (failures == 0) return 0;
  std::string command;
  for (const std::string& word : options.command) command += " " + word;
  std::fprintf(stderr, "weir shake: %s WEIR_SCHEDULE=%s%s %s again\n", setting.c_str(), first_failed.c_str(),
               command.c_str(), again);
  return 1;
}

}  // namespace weir::tool
