// SPDX-License-Identifier: Apache-2.0
#include "runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

namespace weir::tool {
namespace {

volatile std::sig_atomic_t target = 0;  // argument of kill: the run and its children

void end_with(int signal) {
  if (target != 0) ::kill(static_cast<pid_t>(target), signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Starts a run as its own process group, so that signals reach it and its children. Only a terminal's foreground group may
/// read from it, so with a terminal the run stays in this process's group. Returns 0 or the error.
int start(char** argv, const std::string& output, const std::string& errors) {
  posix_spawnattr_t attributes;
  if (const int error = ::posix_spawnattr_init(&attributes); error != 0) return error;
  const bool own_group = ::isatty(STDIN_FILENO) == 0;
  if (own_group) ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const auto redirect = [&](int descriptor, const std::string& file) {
    if (!file.empty())
      ::posix_spawn_file_actions_addopen(&actions, descriptor, file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  };
  redirect(STDOUT_FILENO, output);
  redirect(STDERR_FILENO, errors);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) target = own_group ? -child : child;
  return error;
}

Run wait(std::chrono::seconds timeout) {
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
  return {0, !in_time, status};
}

}  // namespace

void begin_runs() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    if (std::signal(signal, end_with) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGCHLD, SIG_DFL);  // if it is ignored, the exit status is lost
}

Run run_once(const std::vector<std::string>& command, std::chrono::seconds timeout, const std::string& output,
             const std::string& errors) {
  std::vector<std::string> words = command;
  if (const int error = start(pointers_to(words).data(), output, errors); error != 0) return {error};
  return wait(timeout);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

int cannot_run(const std::string& program, int error) {
  std::fprintf(stderr, "weir: cannot run '%s': %s\n", program.c_str(), std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

std::string other_variables() {
  std::string line;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry, name = text.substr(0, text.find('='));
    if (!text.starts_with("WEIR_") || name == "WEIR_BACKEND" || name == "WEIR_SCHEDULE" || name == "WEIR_TOOLS" ||
        name == "WEIR_RACE")
      continue;
    const std::string value(text.substr(std::min(text.size(), name.size() + 1)));
    const bool is_plain = value.find_first_of(" '\"$\\;&|<>()*?") == std::string::npos;
    line += fmt::format(" {}={}", name, is_plain ? value : "'" + value + "'");
  }
  return line;
}

std::string line_of(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace weir::tool
