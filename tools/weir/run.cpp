// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "commands.hpp"
#include "runs.hpp"

namespace weir::tool {
namespace {

constexpr int nothing_seen = 3;

int become(std::vector<std::string> words) {
  const std::vector<char*> argv = pointers_to(words);
  ::execvp(argv[0], argv.data());
  return cannot_run(argv[0], errno);
}

void set_variables(const RunOptions& options) {
  for (const auto& [name, value] : options.variables) {
    if (!value.empty()) ::setenv(name.c_str(), value.c_str(), 1);
  }
}

volatile pid_t running = 0;

// Forwards a signal that another process sent to this one. The terminal sends its signals to the program itself.
void pass_on(int signal, siginfo_t* info, void*) {
  if (info->si_code <= 0) ::kill(running, signal);
}

// Waits for the process. Returns its exit status in the form that a shell uses.
int wait_for(pid_t process, const sigset_t& allowed) {
  running = process;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &allowed, nullptr);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "weir: signal %d ended the program: %s\n", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

// Runs the command. Returns its exit status in the form that a shell uses.
int run_and_wait(std::vector<std::string> words) {
  const std::vector<char*> argv = pointers_to(words);
  pid_t process = 0;
  ::signal(SIGCHLD, SIG_DFL);  // if it is ignored, the exit status is lost
  // Block signals until they can be forwarded, because the program may send one immediately.
  sigset_t all, allowed;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &allowed);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &allowed);
  const int error = ::posix_spawnp(&process, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return cannot_run(argv[0], error);
  return wait_for(process, allowed);
}

bool has_word(const char* list, const std::string& word) {
  return list != nullptr && ("," + std::string(list) + ",").find("," + word + ",") != std::string::npos;
}

// Runs the program with the tool `race`. The exit status alone would miss races: a process that ends by `_exit` keeps its
// own status, and some processes are never waited for. So each process writes its status for races to a file.
int run_with_races(const std::vector<std::string>& command) {
  std::string tally = (std::filesystem::temp_directory_path() / "weir-race-XXXXXX").string();
  const int file = ::mkstemp(tally.data());
  if (file < 0) return cannot_run(tally.c_str(), errno);
  ::close(file);
  const char* const variable = std::getenv("WEIR_RACE");
  std::string options = "tally=" + tally;
  if (variable != nullptr && *variable != '\0') options.insert(0, std::string(variable) + ",");
  ::setenv("WEIR_RACE", options.c_str(), 1);
  int status = run_and_wait(command);
  std::size_t races = 0;
  int wanted = 0;
  bool has_seen = false;
  std::ifstream in(tally);
  for (int each = 0; in >> each; has_seen = true) {
    races += each != 0 ? 1 : 0;
    wanted = std::max(wanted, each);
  }
  std::filesystem::remove(tally);
  if (status == 0 && wanted != 0) {
    std::fprintf(stderr, "weir run: %zu race%s in the processes of the program, so the exit status is %d\n", races,
                 races == 1 ? "" : "s", wanted);
    status = wanted;
  }
  if (!has_seen) std::fputs("weir run: the program did not use Weir, so the tool race checked nothing\n", stderr);
  return has_seen || status != 0 ? status : nothing_seen;
}

}  // namespace

int run_program(const RunOptions& options) {
  set_variables(options);
  return has_word(std::getenv("WEIR_TOOLS"), "race") ? run_with_races(options.command) : become(options.command);
}

int trace_program(const RunOptions& options) {
  set_variables(options);
  const std::string& tool = options.variables.at("WEIR_TOOLS");
  const bool records = tool == "record";
  const char* const variable = std::getenv(records ? "WEIR_RECORD_FILE" : "WEIR_TIMELINE");
  const std::string file = variable != nullptr ? variable : records ? "weir.recording" : "weir.pftrace";
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code none;
  if (const auto status = std::filesystem::status(file, none);
      std::filesystem::exists(status) ? ::access(file.c_str(), W_OK) != 0
                                      : ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
    std::fprintf(stderr, "weir %s: the file '%s' cannot be written: %s\n", tool.c_str(), file.c_str(),
                 std::strerror(errno));
    return nothing_seen;
  }
  const auto before = std::filesystem::last_write_time(file, none);
  const int status = run_and_wait(options.command);
  // The program opens the file when it first uses Weir. The check is not possible if %p in the name stands for the process
  // number.
  const bool is_known =
      file.find("%p") == file.npos && (!std::filesystem::exists(file, none) || std::filesystem::is_regular_file(file, none));
  if (!is_known || std::filesystem::last_write_time(file, none) != before) return status;
  std::fprintf(stderr, "weir %s: '%s' was not written: the program did not use Weir\n", tool.c_str(), file.c_str());
  return status != 0 ? status : nothing_seen;
}

}  // namespace weir::tool
