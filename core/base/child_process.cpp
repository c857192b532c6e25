// SPDX-License-Identifier: Apache-2.0
#include "core/base/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

// Implements child_process.hpp with posix_spawn.
namespace weir::detail {
namespace {

void check(int error, const std::string& what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

struct FileActions {
  posix_spawn_file_actions_t value;
  FileActions() { check(::posix_spawn_file_actions_init(&value), "posix_spawn_file_actions_init"); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

struct Attributes {
  posix_spawnattr_t value;
  Attributes() { check(::posix_spawnattr_init(&value), "posix_spawnattr_init"); }
  ~Attributes() { ::posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

/// Receives the child's output. It is a file in memory and not a pipe: the child may leave another program running, such as
/// a compiler cache's server, which would keep the pipe open, so reading would never end.
struct OutputFile {
  int descriptor = ::memfd_create("output", MFD_CLOEXEC | no_exec_seal);
  OutputFile() {
    if (descriptor < 0 && errno == EINVAL) descriptor = ::memfd_create("output", MFD_CLOEXEC);
    if (descriptor < 0) check(errno, "memfd_create");
    ::fcntl(descriptor, F_SETFL, O_APPEND);
  }
  ~OutputFile() { ::close(descriptor); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::string read() const {
    std::string content;
    char buffer[4096];
    while (true) {
      const ssize_t size = ::pread(descriptor, buffer, sizeof(buffer), static_cast<off_t>(content.size()));
      if (size <= 0) return content;
      content.append(buffer, static_cast<std::size_t>(size));
    }
  }

 private:
  static constexpr unsigned no_exec_seal = 8;  // MFD_NOEXEC_SEAL of Linux 6.3, which some systems require for every memfd
};

// Gives the child default signal handlers and an empty signal mask. A compiler starts children itself, and waiting for them
// fails if SIGCHLD is ignored.
void use_default_signals(Attributes& attributes) {
  sigset_t all, none;
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  sigemptyset(&none);
  check(::posix_spawnattr_setsigdefault(&attributes.value, &all), "posix_spawnattr_setsigdefault");
  check(::posix_spawnattr_setsigmask(&attributes.value, &none), "posix_spawnattr_setsigmask");
  check(::posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK),
        "posix_spawnattr_setflags");
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

}  // namespace

ChildOutcome run_child(const std::vector<std::string>& arguments, const std::string& folder,
                       const std::vector<std::string>& environment, unsigned cpu_seconds) {
  const OutputFile output;
  FileActions actions;
  check(::posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str()), "posix_spawn_file_actions_addchdir_np");
  check(::posix_spawn_file_actions_adddup2(&actions.value, output.descriptor, 1), "posix_spawn_file_actions_adddup2");
  check(::posix_spawn_file_actions_adddup2(&actions.value, output.descriptor, 2), "posix_spawn_file_actions_adddup2");
  // Must follow the dup2 actions above: if this process has closed its standard input, the output file is descriptor 0.
  check(::posix_spawn_file_actions_addopen(&actions.value, 0, "/dev/null", O_RDONLY, 0), "posix_spawn_file_actions_addopen");
#if __GLIBC_PREREQ(2, 34)
  check(::posix_spawn_file_actions_addclosefrom_np(&actions.value, 3), "posix_spawn_file_actions_addclosefrom_np");
#endif
  Attributes attributes;
  use_default_signals(attributes);

  std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  pid_t child = 0;
  check(::posix_spawn(&child, argv[0], &actions.value, &attributes.value, argv.data(), envp.data()),
        "starting " + arguments[0]);
  rlimit limit{};  // Programs that the child has already started get no limit, which is harmless.
  if (cpu_seconds != 0 && ::prlimit(child, RLIMIT_CPU, nullptr, &limit) == 0 && limit.rlim_cur > cpu_seconds) {
    limit.rlim_cur = cpu_seconds;
    ::prlimit(child, RLIMIT_CPU, &limit, nullptr);
  }

  ChildOutcome outcome;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    outcome.reaped_elsewhere = true;
    break;
  }
  if (!outcome.reaped_elsewhere) outcome.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  outcome.output = output.read();
  return outcome;
}

}  // namespace weir::detail
