// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/subprocess.hpp"

/// What shows in a process of its own only: see child.cpp.
namespace {

using weir::test::Environment;
using weir::test::Outcome;

Outcome play(const std::string& part, const std::string& argument = "", Environment environment = {}) {
  if (const char* const cache = ::getenv("WEIR_CACHE_DIR")) environment.try_emplace("WEIR_CACHE_DIR", cache);
  environment.try_emplace("WEIR_HOST_THREADS", "3");
  return weir::test::run(WEIR_TEST_CHILD, {part, argument}, environment);
}

TEST_CASE("work may begin after main, in atexit handlers and at a thread's end, whatever was begun before") {
  for (const char* when : {"after_main", "in_atexit", "at_thread_end"}) {
    for (const char* begun : {"nothing", "opened", "used"}) {
      CAPTURE(when);
      CAPTURE(begun);
      // Freed memory is overwritten, so that a use of it shows. Without a cache the compiler runs, too.
      const Outcome outcome =
          play(when, begun, {{"MALLOC_PERTURB_", "170"}, {"WEIR_CACHE_DIR", "/proc/nosuch"}, {"WEIR_LOG", "error"}});
      CHECK(outcome.status == 0);
      CHECK(outcome.errors.empty());
      CHECK_FALSE(outcome.says("error:"));
      const int times = std::string(begun) == "used" ? 2 : 1;
      for (const char* line : {"filled with 7", "compiled: 42", "called", "waited", "replayed: 9", "scopes: right"}) {
        CAPTURE(line);
        CHECK(outcome.count(line) == times);
      }
    }
  }
}

TEST_CASE("scopes may be static and thread-local objects") {
  const Outcome outcome = play("scopes_that_outlive", "", {{"MALLOC_PERTURB_", "170"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.says("outlived"));
  CHECK(outcome.errors.empty());
}

TEST_CASE("workers share the loops of kernels, be they more than there are processors") {
  for (const char* threads : {"2", "4", "16"}) {
    CAPTURE(threads);
    const Outcome outcome = play("shared_loops", "", {{"WEIR_HOST_THREADS", threads}});
    CHECK(outcome.status == 0);
    CHECK(outcome.output == "200000 elements, wrong: 0\n60000 elements, wrong: 0\n20000 elements, wrong: 0\n");
  }
}

TEST_CASE("a stream or a graph lets other streams in between, and more urgent ones at once") {
  for (const char* priority : {"high", "normal"}) {
    CAPTURE(priority);
    const Outcome outcome = play("others_come_in_between", priority, {{"WEIR_HOST_THREADS", "1"}});
    CHECK(outcome.status == 0);
    CHECK(outcome.output == "before a kernel of another stream: few\nbefore a kernel of another stream: few\n");
  }
}

TEST_CASE("a schedule is the same each time and with any number of workers") {
  for (const char* schedule : {"7", "pct:7"}) {
    CAPTURE(schedule);
    const auto order = [&](const char* threads) {
      const Outcome outcome = play("order_of_kernels", "", {{"WEIR_HOST_THREADS", threads}, {"WEIR_SCHEDULE", schedule}});
      CHECK(outcome.status == 0);
      return outcome.output;
    };
    const std::string first = order("1");
    CHECK(first.size() == 41);
    for (const char* threads : {"2", "4", "16", "4"}) CHECK(order(threads) == first);
  }
}

TEST_CASE("the threads of Weir take no signals, save those of their own faults") {
  const Outcome outcome = play("signals");
  CHECK(outcome.status == 0);
  CHECK(outcome.says("threads that take SIGUSR1: 0\n"));
  CHECK(outcome.says("threads that take SIGSEGV: some\n"));
  CHECK(outcome.says("received: 1"));
}

TEST_CASE("a kernel for which there is no memory is reported, and its stream goes on working") {
  const Outcome outcome = play("kernel_without_memory", "", {{"WEIR_HOST_THREADS", "1"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.output == "kernels without memory: some, the last element: 256\n");
}

TEST_CASE("where memory runs out, work throws or is done, and what there is goes on working") {
  for (const char* whose : {"mine", "others"}) {
    CAPTURE(whose);
    const Outcome outcome = play("out_of_memory", whose);
    INFO(outcome.output << outcome.errors);
    CHECK(outcome.status == 0);
    CHECK(outcome.output == "capture_and_replay: over\nenqueue: over\n");
  }
}

TEST_CASE("likewise where something of the backend is used for the first time") {
  for (int which = 1;; ++which) {
    CAPTURE(which);
    REQUIRE(which < 200);
    const Outcome outcome = play("out_of_memory_at_first", std::to_string(which));
    CHECK(outcome.status == 0);
    CHECK(outcome.says("filled with 7"));
    if (outcome.says("no failure")) break;
    CHECK(outcome.says("survived"));
  }
}

TEST_CASE("a process with raised privileges runs no program of its caller's when it compiles") {
  // A program with the set-group-id bit and another group runs so; only root can make one here.
  const weir::test::TemporaryFolder folder;
  const std::string program = folder.copy(WEIR_TEST_CHILD, "child"), marker = folder.path() + "/ran";
  for (const char* name : {"cc1plus", "as", "collect2", "ld", "c++"}) {
    const std::string fake = folder.path() + "/" + name;
    std::ofstream(fake) << "#!/bin/sh\necho " << name << " >> " << marker << "\nexit 1\n";
    std::filesystem::permissions(fake, std::filesystem::perms(0755));
  }
  if (::chmod(folder.path().c_str(), 0755) != 0 || ::chown(program.c_str(), ::geteuid(), ::getgid() + 1) != 0 ||
      ::chmod(program.c_str(), 02755) != 0) {
    MESSAGE("not root: skipped");
    return;
  }
  const Outcome outcome =
      weir::test::run(program, {"compile_privileged"},
                      {{"COMPILER_PATH", folder.path() + "/"}, {"PATH", folder.path()}, {"WEIR_LOG", "error"}});
  if (outcome.says("privileged: no")) {
    MESSAGE("the temporary folder is mounted nosuid: skipped");
    return;
  }
  CHECK(outcome.says("privileged: yes"));
  CHECK(outcome.says("compiled: 42"));
  CHECK_FALSE(std::filesystem::exists(marker));
}

}  // namespace
