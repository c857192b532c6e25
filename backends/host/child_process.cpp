// SPDX-License-Identifier: Apache-2.0
#include "backends/host/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weir::host {
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

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) check(errno, "pipe2");
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    ::close(read_end);
    close_write_end();
  }
  void close_write_end() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

// A compiler waits for its own children, which fails if SIGCHLD is ignored. It must not inherit the calling thread's signal
// mask either.
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
  Pipe pipe;
  FileActions actions;
  check(::posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str()), "posix_spawn_file_actions_addchdir_np");
  check(::posix_spawn_file_actions_addopen(&actions.value, 0, "/dev/null", O_RDONLY, 0), "posix_spawn_file_actions_addopen");
  check(::posix_spawn_file_actions_adddup2(&actions.value, pipe.write_end, 1), "posix_spawn_file_actions_adddup2");
  check(::posix_spawn_file_actions_adddup2(&actions.value, pipe.write_end, 2), "posix_spawn_file_actions_adddup2");
#if __GLIBC_PREREQ(2, 34)
  check(::posix_spawn_file_actions_addclosefrom_np(&actions.value, 3), "posix_spawn_file_actions_addclosefrom_np");
#endif
  Attributes attributes;
  use_default_signals(attributes);

  std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  pid_t child = 0;
  check(::posix_spawn(&child, argv[0], &actions.value, &attributes.value, argv.data(), envp.data()),
        "starting " + arguments[0]);
  rlimit limit{};  // What it has started before this is not limited, which costs time alone.
  if (cpu_seconds != 0 && ::prlimit(child, RLIMIT_CPU, nullptr, &limit) == 0 && limit.rlim_cur > cpu_seconds) {
    limit.rlim_cur = cpu_seconds;
    ::prlimit(child, RLIMIT_CPU, &limit, nullptr);
  }
  pipe.close_write_end();

  ChildOutcome outcome;
  for (char buffer[4096];;) {
    const ssize_t size = ::read(pipe.read_end, buffer, sizeof(buffer));
    if (size > 0) {
      outcome.output.append(buffer, static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      break;
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    outcome.reaped_elsewhere = true;
    return outcome;
  }
  outcome.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

}  // namespace weir::host
