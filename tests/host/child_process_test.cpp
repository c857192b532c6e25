// SPDX-License-Identifier: Apache-2.0
#include "core/base/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

// Tests how the host backend runs other programs.

namespace weir::host {
namespace {

namespace fs = std::filesystem;

detail::ChildOutcome shell(const std::string& script, const std::string& folder = "/") {
  return detail::run_child({"/bin/sh", "-c", script}, folder, {"PATH=/usr/bin:/bin"});
}

TEST_CASE("output of both kinds comes back, however much it is") {
  const detail::ChildOutcome outcome = shell("echo out; echo err >&2; head -c 1000000 /dev/zero | tr '\\0' x");
  CHECK(outcome.status == 0);
  CHECK(outcome.output.size() == 8 + 1000000);
  CHECK(outcome.output.starts_with("out\nerr\nxxx"));
}

TEST_CASE("what a program leaves running with its output open is not waited for") {
  const detail::ChildOutcome outcome = shell("sleep 300 & echo $!");
  CHECK(outcome.status == 0);
  CHECK(::kill(std::stoi(outcome.output), SIGKILL) == 0);  // it still runs
}

TEST_CASE("a process whose standard input is closed reads the output, too") {
  const int input = ::dup(0);
  ::close(0);
  const detail::ChildOutcome outcome = shell("cat; echo out; echo err >&2");
  ::dup2(input, 0);
  ::close(input);
  CHECK(outcome.output == "out\nerr\n");
}

TEST_CASE("the status, and the signal that ended a program") {
  CHECK(shell("exit 3").status == 3);
  CHECK(shell("kill -9 $$").status == -9);
}

TEST_CASE("arguments are passed as they are, without a shell") {
  CHECK(detail::run_child({"/bin/echo", "$HOME; `id` \"x\" '*'"}, "/", {}).output == "$HOME; `id` \"x\" '*'\n");
}

TEST_CASE("the folder is the child's own") {
  const detail::TemporaryFolder folder;
  CHECK(shell("pwd", folder.path()).output == folder.path() + "\n");
}

TEST_CASE("the environment is what is given, and nothing else") {
  CHECK(detail::run_child({"/usr/bin/env"}, "/", {"ONE=1", "TWO=a b"}).output == "ONE=1\nTWO=a b\n");
  CHECK(detail::run_child({"/usr/bin/env"}, "/", {}).output.empty());
}

TEST_CASE("no input, and none of the parent's open files") {
  const int leaked = ::open("/dev/null", O_RDONLY);  // not O_CLOEXEC
  const detail::ChildOutcome outcome = shell("cat; ls /proc/self/fd | tr '\\n' ' '");
  ::close(leaked);
  CHECK(outcome.status == 0);
  CHECK(outcome.output == "0 1 2 3 ");  // 3: ls reading the folder
}

TEST_CASE("signals are handled as by default in the child") {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old);
  const detail::ChildOutcome outcome = shell("grep -E 'SigBlk|SigIgn' /proc/self/status");
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
  // The C library keeps signals 32 and 33 to itself.
  const auto mask = [&](const char* name) {
    return std::stoull(outcome.output.substr(outcome.output.find(name) + 7), nullptr, 16) & 0x7FFFFFFFU;
  };
  CHECK(mask("SigBlk:") == 0);
  CHECK(mask("SigIgn:") == 0);
}

TEST_CASE("an application that collects all children itself leaves the status unknown") {
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = SIG_IGN;  // the kernel collects them
  ::sigaction(SIGCHLD, &ignore, &before);
  const detail::ChildOutcome outcome = shell("echo done; exit 1");
  ::sigaction(SIGCHLD, &before, nullptr);
  CHECK(outcome.reaped_elsewhere);
  CHECK(outcome.output == "done\n");
}

TEST_CASE("what cannot be started is an error that names it") {
  try {
    detail::run_child({"/nosuch/compiler"}, "/", {});
    FAIL("started");
  } catch (const std::system_error& error) {
    CHECK(error.code() == std::errc::no_such_file_or_directory);
    CHECK(test::has(error.what(), "/nosuch/compiler"));
  }
}

}  // namespace
}  // namespace weir::host
