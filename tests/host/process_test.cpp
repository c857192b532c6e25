// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/subprocess.hpp"
#include "weir/registry.hpp"

/// Tests that need a separate process, which is child.cpp.
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

TEST_CASE("without threads to be had, the error says so, and names the limit") {
  const Outcome outcome = play("no_threads");
  INFO(outcome.output << outcome.errors);
  CHECK(outcome.says("starting a thread on host: a thread that runs the work: "));
  CHECK(outcome.says("raise the limit on threads (ulimit -u, pids.max)"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose own handlers come first
TEST_CASE("a kernel's thread that needs more stack than it has ends the launch with an error that names it") {
  const Outcome formed = play("overflow");  // by the work-group pass, if there is one
  INFO(formed.output << formed.errors);
  CHECK(formed.status == 0);
  CHECK(formed.says(" of block (0, 0, 0) needs more than its "));
  CHECK(formed.says("k ended with 10"));
  const Outcome outcome = play("overflow", "", {{"WEIR_HOST_TIER", "fibers"}});
  INFO(outcome.output << outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(outcome.says("kernel 'k'"));
  CHECK(outcome.says("thread 9 of block (0, 0, 0) needs more than its 512 KiB of stack"));
  CHECK(outcome.says("kernel.cu:"));
  CHECK(outcome.says("kernel 'array'"));
  CHECK(outcome.says("k ended with 10"));
}

TEST_CASE("a kernel's fault is an error of its stream, and a program's own fault is what it was") {
  const auto both = [](const Outcome& outcome) {
    INFO(outcome.output << outcome.errors);
    CHECK(outcome.says("kernel.cu:2: the assertion 'n == 0' of "));
    CHECK(outcome.says("kernel.cu:3: "));
    CHECK(outcome.says(" accesses address 0x"));
    CHECK(outcome.says("out: 1"));
  };
  const Outcome handled = play("faults", "handled");
  both(handled);
  CHECK(handled.says("the program's own handler"));
  CHECK(handled.status == 7);
  const Outcome unhandled = play("faults", "unhandled");
  both(unhandled);
  CHECK(unhandled.status == 128 + SIGSEGV);
  for (const char* tools : {"timeline,validate", "race", "ranges,shake"}) {
    const Outcome watched = play("faults", "kernel", {{"WEIR_TOOLS", tools}, {"WEIR_TIMELINE", "/dev/null"}});
    both(watched);
    CHECK(watched.status == 0);
  }
}

TEST_CASE("WEIR_HOST_SANITIZE=address reports an index out of range, with file and line") {
  const auto play_with = [](const char* where, const std::string& runtime) {
    // The child has an operator new of its own.
    Environment environment = {{"WEIR_HOST_SANITIZE", "address"},
                               {"ASAN_OPTIONS", "detect_leaks=0:alloc_dealloc_mismatch=0"}};
    if (const char* const compiler = ::getenv("WEIR_HOST_CXX")) environment["WEIR_HOST_CXX"] = compiler;
    if (!runtime.empty()) environment["LD_PRELOAD"] = runtime;
    return play("out_of_range", where, environment);
  };
  const Outcome without = play_with("device", "");
  CAPTURE(without.output);
  constexpr std::string_view remedy = "start the program with LD_PRELOAD=";
  REQUIRE(without.says(remedy));
  std::string runtime = without.output.substr(without.output.find(remedy) + remedy.size());
  runtime = runtime.substr(0, runtime.find(','));
  if (!runtime.starts_with('/')) {
    MESSAGE("left out: there is no " << runtime);
    return;
  }
  for (const char* where : {"device", "pool"}) {
    const Outcome outcome = play_with(where, runtime);
    INFO(outcome.output << outcome.errors);
    CHECK(outcome.says("0 is in range"));
    CHECK_FALSE(outcome.says("1 is in range"));
    CHECK(outcome.complains("ERROR: AddressSanitizer"));
    CHECK(outcome.complains("kernel.cu:3"));
    CHECK(outcome.status != 0);
  }
  const Outcome shared = play_with("shared", runtime);
  INFO(shared.output << shared.errors);
  CHECK(shared.says("0 is in range"));
  CHECK(shared.says("kernel.cu:7: the assertion 'the index is one of the array' of thread 59 of block (0, 0, 0) fails"));
  CHECK(play("out_of_range", "device", {{"WEIR_HOST_SANITIZE", "all"}}).says("reading WEIR_HOST_SANITIZE='all'"));
}

TEST_CASE("gdb stops at a kernel's line and shows the variables of one thread") {
  if (::access("/usr/bin/gdb", X_OK) != 0) {
    MESSAGE("left out: there is no gdb");
    return;
  }
  std::vector<std::string> arguments = {"-k", "5", "120", "/usr/bin/gdb", "-nx", "-batch"};
  for (const char* command :
       {"set breakpoint pending on", "set debuginfod enabled off", "break kernel.cu:3 if own == 42", "run", "list 3,3",
        "print by", "print threadIdx", "print own", "delete", "continue"})
    arguments.insert(arguments.end(), {"-ex", command});
  arguments.insert(arguments.end(), {"--args", WEIR_TEST_CHILD, "debug"});
  Environment environment = {{"WEIR_HOST_THREADS", "1"}};
  if (const char* const compiler = ::getenv("WEIR_HOST_CXX")) environment["WEIR_HOST_CXX"] = compiler;
  const Outcome outcome = weir::test::run("/usr/bin/timeout", arguments, environment);
  INFO(outcome.output << outcome.errors);
  if (outcome.complains("ptrace") || outcome.complains("Could not trace")) {
    MESSAGE("left out: gdb may not trace here");
    return;
  }
  CHECK(outcome.says("kernel.cu:3"));
  CHECK(outcome.says("x[threadIdx.x] = own * by;"));
  CHECK(outcome.says("$1 = 3\n$2 = {x = 2, y = 0, z = 0}\n$3 = 42\n"));
  CHECK(outcome.says("x: 126"));
}

TEST_CASE("WEIR_HOST_SIGNALS=0 leaves the signals alone") {
  const Outcome outcome = play("faults", "kernel", {{"WEIR_HOST_SIGNALS", "0"}});
  CHECK(outcome.says("the assertion 'n == 0' of "));
  CHECK(outcome.status == 128 + SIGSEGV);
  CHECK(play("faults", "kernel", {{"WEIR_HOST_SIGNALS", "no"}}).says("reading WEIR_HOST_SIGNALS='no'"));
}
#endif

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

TEST_CASE("one warning in a process tells that kernels with barriers are slow because the compiler lacks the pass") {
  const std::string plugin = weir::Registry::instance().probe("host").plugin_path;
  if (plugin.empty()) {
    MESSAGE("the host backend is no plugin: skipped");
    return;
  }
  const weir::test::TemporaryFolder folder;  // without the pass, which lies beside the plugin
  folder.copy(plugin, "libweir_host.so");
  const auto errors = [&](const std::string& which, Environment environment) {
    environment["WEIR_PLUGIN_PATH"] = folder.path();
    return play("barriers", which, environment).errors;
  };
  const std::string warning = errors("barrier", {});
  CHECK(warning.starts_with("weir warn: threads of kernel 'k' wait on fibers, up to 300 times slower "));
  CHECK(warning.find("'weir doctor' or 'python -m weir info' names what to install") != warning.npos);
  CHECK(std::count(warning.begin(), warning.end(), '\n') == 1);
  CHECK(errors("none", {}) == "");
  CHECK(errors("barrier", {{"WEIR_HOST_TIER", "fibers"}}) == "");
  CHECK(errors("barrier", {{"WEIR_LOG", "error"}}) == "");
}

TEST_CASE("kernels run on fibers where the compiler cannot load its work-group pass, and a warning says why") {
  std::string clang;
  for (int major = 16; clang.empty() && major < 30; ++major) {
    const std::string path = "/usr/bin/clang++-" + std::to_string(major);
    if (::access(path.c_str(), X_OK) == 0) clang = path;
  }
  const std::string plugin = weir::Registry::instance().probe("host").plugin_path;
  if (clang.empty() || plugin.empty()) {
    MESSAGE("there is no Clang of version 16 or later, or the host backend is no plugin: skipped");
    return;
  }
  const weir::test::TemporaryFolder folder;
  folder.copy(plugin, "libweir_host.so");
  std::ofstream(folder.path() + "/weir_workgroup-99.so") << "of another LLVM";
  const std::string compiler = folder.path() + "/compiler";
  std::ofstream(compiler) << "#!/bin/sh\n[ \"$1\" != --version ] || exec echo 'clang version 99.0'\nexec " << clang
                          << " \"$@\"\n";
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const Outcome outcome = play("compile_privileged", "",
                               {{"WEIR_PLUGIN_PATH", folder.path()},
                                {"WEIR_HOST_CXX", compiler},
                                {"WEIR_CACHE_DIR", folder.path() + "/cache"},
                                {"WEIR_LOG", "warn"}});
  CAPTURE(outcome.errors);
  CHECK(outcome.says("compiled: 42"));
  CHECK(outcome.errors.find("runs on fibers: ") != outcome.errors.npos);
  CHECK(outcome.errors.find("unable to load plugin '" + folder.path() + "/weir_workgroup-99.so'") != outcome.errors.npos);
}

}  // namespace
