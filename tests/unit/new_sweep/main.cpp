// SPDX-License-Identifier: Apache-2.0

// Runs a program that uses all of Weir, and lets the N-th call of `operator new` fail: first its first call, then its
// second, and so on, until a run has no failing call. For each failing call, on any thread, the program must get
// std::bad_alloc or weir::Error, or Weir must handle the error itself. Then the process must continue, a further run must
// succeed, and nothing may be leaked. The only exception is a free that needs memory itself: it may leak, with a log line
// (docs/streams.md).
//
//   weir_new_sweep             tests a process that has used all of Weir before, so that caches are filled. If a failure
//                              ends the process, continues with the next call. The exit status is 0 if there was no mistake
//   weir_new_sweep --cold      tests processes that have not opened Weir yet, one for each call
//   weir_new_sweep --at=N      lets only the N-th call fail
//
// Some of the calls come from threads of the library, so the N-th call may be another one in the next run.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include "allocator.hpp"
#include "rest.hpp"
#include "scenario.hpp"

namespace {

constexpr unsigned patience_s = 120;  // only a run that hangs takes so long, on a machine however busy

/// Shared with the child that sweeps, which may come to its end at any call.
struct State {
  std::uint64_t call;
  std::uint64_t leaks;
  std::uint64_t logged;  ///< memory that could not be freed, for a free needs memory itself, with a line in the log
  std::uint64_t wrongs;
  bool through;
};
State* state = nullptr;

void report(const char* what) {
  char line[160];
  const int size =
      std::snprintf(line, sizeof(line), "call %llu: %s\n", static_cast<unsigned long long>(state->call), what);
  if (::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) > 0) sweep::print_failed_call();
}
void went_wrong(const char* what) {
  ++state->wrongs;
  report(what);
}

[[noreturn]] void on_terminate() {
  report("terminate was called; the call came from:");
  ::_exit(3);
}
void on_signal(int signal) {
  report(signal == SIGALRM ? "it hangs; the call came from:" : "a signal ended it; the call came from:");
  ::_exit(signal == SIGALRM ? 4 : 5);
}

enum class Run { through, failed, wrong };

// Runs once, with a failing call or without.
Run run(const sweep::Setting& setting, std::uint64_t failing) {
  Run result = Run::through;
  ::alarm(patience_s);
  sweep::fail_call(failing);
  try {
    if (!sweep::run_scenario(setting)) {
      went_wrong(sweep::has_failed() ? "nothing was thrown, and a result is wrong; the call came from:"
                                     : "a result is wrong, and no call failed:");
      result = Run::wrong;
    }
  } catch (const std::bad_alloc&) {
  } catch (const weir::Error& error) {
    if (!sweep::has_failed()) {
      went_wrong(error.what());
      result = Run::wrong;
    }
  } catch (const std::exception& error) {
    went_wrong((std::string("threw neither std::bad_alloc nor weir::Error, but: ") + error.what()).c_str());
    result = Run::wrong;
  }
  if (result == Run::through && sweep::has_failed()) result = Run::failed;
  sweep::fail_call(0);
  ::alarm(0);
  return result;
}

std::int64_t live_at_rest(weir::Device& device) {
  return sweep::at_rest(device, [] { return sweep::live_blocks(); });
}

// Whether the call that fails leaks each time. What is kept for later use may become more, but not again and again.
bool leaks_again(const sweep::Setting& setting, sweep::Log& log) {
  for (int round = 0; round < 4; ++round) {
    const std::int64_t before = live_at_rest(setting.device);
    for (int i = 0; i < 3; ++i) (void)run(setting, state->call);
    const bool logged = log.says("leaked");
    log.clear();
    (void)run(setting, 0);
    if (logged || live_at_rest(setting.device) - before < 3) return false;
  }
  return true;
}

// Sweeps a process that is warm: all that is kept for later use is there.
void sweep_warm(std::uint64_t first, std::uint64_t last) {
  weir::Device& device = weir::device("host");
  const sweep::Setting setting = sweep::make_setting(device);
  sweep::Log log;
  for (int i = 0; i < 20; ++i) (void)run(setting, 0);
  log.clear();
  std::int64_t live = live_at_rest(device);
  for (state->call = first; state->call <= last; ++state->call) {
    const Run result = run(setting, state->call);
    if (result == Run::through) return;
    if (log.says("leaked")) ++state->logged;
    log.clear();
    if (run(setting, 0) != Run::through) went_wrong("afterwards the same does not work; the call came from:");
    if (live_at_rest(device) <= live) continue;
    const bool again = leaks_again(setting, log);
    live = live_at_rest(device);
    if (!again) continue;
    sweep::fail_call(state->call);
    (void)run(setting, sweep::go_on);
    ++state->leaks;
    report("leaks; the call came from:");
  }
}

// One call of a process that has not opened Weir yet. False where the call never comes.
bool fail_cold(std::uint64_t call) {
  state->call = call;
  ::alarm(patience_s);
  sweep::fail_call(call);
  const weir::Device* device = nullptr;
  try {
    device = &weir::device("host");
  } catch (const std::bad_alloc&) {
  } catch (const weir::Error&) {  // what came of opening a backend is fixed
    return true;
  }
  if (device == nullptr) device = &weir::device("host");
  std::optional<sweep::Setting> setting;
  for (int attempt = 0; !setting && attempt < 2; ++attempt) {
    try {
      setting.emplace(sweep::make_setting(const_cast<weir::Device&>(*device)));
    } catch (const std::bad_alloc&) {
    } catch (const weir::Error&) {
    }
  }
  const bool failed = run(*setting, sweep::go_on) == Run::failed || sweep::has_failed();
  if (run(*setting, 0) != Run::through) went_wrong("afterwards the same does not work; the call came from:");
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (::getenv("WEIR_LOG") == nullptr) ::setenv("WEIR_LOG", "error", 1);
  bool cold = false;
  std::uint64_t only = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    cold = cold || argument == "--cold";
    if (argument.starts_with("--at=")) only = std::strtoull(argument.c_str() + 5, nullptr, 10);
  }
  state = static_cast<State*>(::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::uint64_t deaths = 0;
  for (std::uint64_t next = only != 0 ? only : 1; !state->through; next = state->call + 1) {
    state->call = 0;
    const pid_t child = ::fork();  // this process never opens Weir, so that each child may
    if (child == 0) {
      std::set_terminate(on_terminate);
      for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGBUS}) std::signal(signal, on_signal);
      if (cold) {
        const sweep::Log log;
        state->through = !fail_cold(next);
      } else {
        sweep_warm(next, only != 0 ? only : UINT64_MAX);
        state->through = true;
      }
      std::fflush(stdout);
      std::exit(0);  // with the destructors of static objects
    }
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return 99;
    if (state->call == 0) return 99;  // it did not come as far as the first call
    if (status != 0) ++deaths;
    if (only != 0) break;
  }
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("calls failed %llu, leaks %llu, terminates %llu, wrong %llu; leaks that were logged %llu\n",
              number(only != 0 ? 1 : state->call - 1), number(state->leaks), number(deaths), number(state->wrongs),
              number(state->logged));
  return deaths == 0 && state->wrongs == 0 && state->leaks == 0 ? 0 : 1;
}
