// SPDX-License-Identifier: Apache-2.0

// Runs a program that uses all of Weir, and lets the N-th call of `operator new`, or of the driver, fail: first its first
// call, then its second, and so on, until a run has no failing call. For each failing call, on any thread, the program must
// get std::bad_alloc or weir::Error, with the driver's code if the driver failed, or Weir must handle the error itself. Then
// the process must continue, a further run must have right results, and nothing may be leaked. There are two exceptions,
// which need a log line: a free that needs memory itself (docs/streams.md), and a driver's call that should have ended an
// object.
//
//   weir_sweep allocations            lets `operator new` fail, on the host backend
//   weir_sweep BACKEND                lets the driver fail, on the backend's first device: a GPU, or the stand-in in the
//                                     backend's variables
//     --code=N                        the error code of failing calls; 999 by default, an unknown error
//     --stand-in                      the driver runs no kernels and owns no functions, so results and host
//                                     memory are not checked
//     --cold                          test the calls of a process that has not opened Weir yet, with one process for each
//     --at=N                          only the N-th call
//     --first=N --stride=M            the N-th call and each M-th after it, so that several processes can share the work
//
// Prints a line for each distinct error, "error: CODE | OPERATION", a line for each mistake, and a summary. The exit status
// is 0 if there was no mistake, 77 if there is no device. Some of the calls come from threads of the library, so the N-th
// call may be another one in the next run.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>

#include "injector.hpp"
#include "scenario.hpp"

namespace {

using sweep::Injector;

constexpr unsigned patience_s = 120;  // only a run that hangs takes so long, on a machine however busy

struct Options {
  std::string backend;
  int code = 999;
  bool of_allocations = false, is_stand_in = false, cold = false;
  bool confirms = false;  ///< looks once more at a call that seemed to leak, in a new process
  std::uint64_t first = 1, stride = 1, only = 0;
};
Options options;

/// Shared with the child that sweeps, which may come to its end at any call.
struct State {
  std::uint64_t call, failed, absorbed, left_behind, leaks, wrongs;
  std::uint64_t suspect;  ///< a call that seems to leak, or 0
  bool through, no_device;
};
State* state = nullptr;
Injector* injector = nullptr;
std::uint64_t last_calls = 0;  // how many calls there were in the last run
bool was_thrown = false;       // whether it has ended with an exception

void report(const char* what) {
  char line[400];
  const int size = std::snprintf(line, sizeof(line), "call %llu, %s: %s\n", static_cast<unsigned long long>(state->call),
                                 injector->function(), what);
  if (::write(STDOUT_FILENO, line, std::min<std::size_t>(size, sizeof(line) - 1)) > 0) injector->print_stack();
}
void went_wrong(const std::string& what) {
  ++state->wrongs;
  report(what.c_str());
}

[[noreturn]] void on_terminate() {
  report("terminate was called; the call came from:");
  ::_exit(3);
}
void on_signal(int signal) {
  report(signal == SIGALRM ? "it hangs; the call came from:" : "a signal ended it; the call came from:");
  ::_exit(signal == SIGALRM ? 4 : 5);
}

void note_error(const weir::Error& error) {
  static std::set<std::string> told;
  const std::string line = "error: " + std::string(to_string(error.errc())) + " | " + error.operation();
  if (told.insert(line).second) std::printf("%s\n", line.c_str());
}

// What the library logs: into a file in memory, because each run logs what its host function throws on purpose.
class Log {
 public:
  Log() : file_(::memfd_create("log", 0)) { ::dup2(file_, STDERR_FILENO); }

  // All lines since the last call of `clear`.
  std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t size = ::pread(file_, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }
  void clear() {
    if (::ftruncate(file_, 0) == 0) ::lseek(file_, 0, SEEK_SET);
  }

 private:
  const int file_;
};

enum class Run { through, failed, wrong };

// Runs once. `call`: the call that fails, or Injector::never. 0: the one for which the injector is armed.
Run run(const sweep::Setting& setting, std::uint64_t call) {
  Run result = Run::through;
  const auto wrong = [&](const std::string& what) {
    went_wrong(what);
    result = Run::wrong;
  };
  ::alarm(patience_s);
  if (call != 0) injector->arm(call);
  was_thrown = true;
  try {
    if (!sweep::run_scenario(setting)) {
      wrong(injector->has_failed() ? "nothing was thrown, and a result is wrong; the call came from:"
                                   : "a result is wrong, and no call failed:");
    } else if (injector->has_failed()) {
      ++state->absorbed;
    }
    was_thrown = false;
  } catch (const weir::Error& error) {
    note_error(error);
    if (!injector->has_failed() || !injector->fits(&error)) wrong(error.what());
  } catch (const std::bad_alloc& error) {
    if (!injector->has_failed() || !injector->fits(nullptr)) wrong(error.what());
  } catch (const std::exception& error) {
    wrong(std::string("threw neither std::bad_alloc nor weir::Error, but: ") + error.what());
  }
  if (result == Run::through && injector->has_failed()) result = Run::failed;
  last_calls = injector->calls();
  injector->arm(0);
  ::alarm(0);
  return result;
}

struct Left {
  std::int64_t objects = 0, blocks = 0;
  friend Left operator-(Left a, Left b) { return {a.objects - b.objects, a.blocks - b.blocks}; }
  friend bool operator==(Left, Left) = default;
  bool is_more_than(Left other, std::int64_t by) const { return objects > other.objects + by || blocks > other.blocks + by; }
};

// What is left once nothing changes any longer: the library's threads let go of the last work in their own time.
Left left_at_rest(weir::Device& device) {
  ::alarm(patience_s);
  device.synchronize();
  const auto now = [] { return Left{injector->objects(), options.is_stand_in ? 0 : sweep::live_blocks()}; };
  Left seen = now();
  for (int unchanged = 0; unchanged < 5;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Left next = now();
    unchanged = next == seen ? unchanged + 1 : 0;
    seen = next;
  }
  ::alarm(0);
  return seen;
}

// Whether the failing call leaves something each time that other runs do not. What is kept for later use may become more, as
// the wrappers of handles that are not used again. With threads of the backend's own it may be another function each time:
// `excused` is set if one of them may leave something.
bool leaks_again(const sweep::Setting& setting, Log& log, bool& excused) {
  for (int round = 0; round < 4; ++round) {
    const Left before = left_at_rest(setting.device);
    for (int i = 0; i < 4; ++i) (void)run(setting, Injector::never);
    const Left between = left_at_rest(setting.device);
    for (int i = 0; i < 3; ++i) {
      log.clear();
      (void)run(setting, state->call);
      excused = excused || injector->may_leave_something(log.text(), was_thrown);
    }
    (void)run(setting, Injector::never);
    if (!(left_at_rest(setting.device) - between).is_more_than(between - before, 2)) return false;
  }
  return true;
}

sweep::Setting make_setting(weir::Device& device) {
  if (!options.is_stand_in) return sweep::make_setting(device);
  return {device, device.load_module(std::as_bytes(std::span("an image"))), false};
}

weir::Device& open_device() { return weir::device(options.backend + ":0"); }

// Some calls of a process that has opened the device, and has all that is kept for later use. True behind the last one. Only
// some of the driver's, because a call that fails may leave the process in another state, as with a context that stays
// current, and so with other calls.
bool sweep_warm() {
  weir::Device& device = open_device();
  const sweep::Setting setting = make_setting(device);
  Log log;
  Left before = left_at_rest(device), usual;  // how much more there is after two runs
  for (int i = 0; i < (options.of_allocations ? 10 : 5); ++i) {
    for (int j = 0; j < 2; ++j) {
      if (run(setting, Injector::never) != Run::through) return true;  // no call has failed yet
    }
    const Left left = left_at_rest(device);
    usual = left - before;
    before = left;
  }
  const std::uint64_t calls = last_calls;
  for (int i = options.of_allocations ? INT_MAX : 40; i > 0; --i, state->call += options.stride) {
    if (state->call > calls) return true;
    log.clear();
    if (run(setting, state->call) == Run::through) continue;  // another thread has made fewer of them
    ++state->failed;
    const std::string logged = log.text();
    bool excused = injector->may_leave_something(logged, was_thrown);
    if (excused && logged.find("stays pinned") != std::string::npos) {
      ++state->left_behind;
      return false;  // this process cannot pin that memory again
    }
    if (run(setting, Injector::never) != Run::through) went_wrong("afterwards the same does not work; the call came from:");
    const Left left = left_at_rest(device), more = left - before;
    before = left;
    if (more.is_more_than(usual, 0) && leaks_again(setting, log, excused)) {
      if (excused) {
        ++state->left_behind;
      } else if (!options.confirms) {
        state->suspect = state->call;
        state->call += options.stride;
        break;
      } else {
        ++state->leaks;
        report(("leaks " + std::to_string(more.objects - usual.objects) + " objects of the driver, " +
                std::to_string(more.blocks - usual.blocks) + " blocks of memory, and logs '" + logged + "'")
                   .c_str());
      }
      before = left_at_rest(device);
    }
    if (options.only != 0) return true;
  }
  state->call -= options.stride;
  return false;
}

// One call of a process that opens the device; with allocations, also of the first run.
void sweep_cold() {
  const Log log;
  ::alarm(patience_s);
  injector->arm(state->call);
  try {
    const weir::Device* device = nullptr;
    try {
      device = &open_device();
    } catch (const std::bad_alloc&) {
      if (!options.of_allocations) throw;
      device = &open_device();
    }
    std::optional<sweep::Setting> setting;
    bool failed = injector->has_failed();
    if (options.of_allocations) {
      for (int attempt = 0; !setting && attempt < 2; ++attempt) {
        try {
          setting.emplace(make_setting(const_cast<weir::Device&>(*device)));
        } catch (const std::bad_alloc&) {
        } catch (const weir::Error&) {
        }
      }
      failed = injector->has_failed();
      failed = run(*setting, 0) == Run::failed || failed;
    } else {
      injector->arm(0);
      if (failed) setting.emplace(make_setting(const_cast<weir::Device&>(*device)));
    }
    state->through = !failed;
    if (!failed) return;
    ++state->absorbed;
    if (run(*setting, Injector::never) != Run::through) went_wrong("afterwards nothing works; the call came from:");
  } catch (const weir::Error& error) {  // opening a backend fails once and for all
    injector->arm(0);
    note_error(error);
    if (!injector->fits(&error)) went_wrong(error.what());
  }
  ++state->failed;
}

bool parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string value = argument.substr(std::min(argument.find('='), argument.size() - 1) + 1);
    const auto number = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (argument == "--stand-in") {
      options.is_stand_in = true;
    } else if (argument == "--cold") {
      options.cold = true;
    } else if (argument.starts_with("--code=")) {
      options.code = static_cast<int>(number());
    } else if (argument.starts_with("--at=")) {
      options.only = options.first = number();
    } else if (argument.starts_with("--first=")) {
      options.first = number();
    } else if (argument.starts_with("--stride=")) {
      options.stride = std::max<std::uint64_t>(number(), 1);
    } else if (!argument.starts_with("--") && options.backend.empty()) {
      options.of_allocations = argument == "allocations";
      options.backend = options.of_allocations ? "host" : argument;
    } else {
      return false;
    }
  }
  return !options.backend.empty();
}

// A process that sweeps. This one never opens Weir, so that each child may.
pid_t start() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  injector = options.of_allocations ? &sweep::allocations() : &sweep::driver_calls(options.code);
  std::set_terminate(on_terminate);
  for (const int signal : {SIGALRM, SIGSEGV, SIGABRT, SIGBUS}) std::signal(signal, on_signal);
  try {
    if (options.cold) {
      sweep_cold();
    } else {
      state->through = sweep_warm();
    }
  } catch (const weir::Error& error) {
    std::printf("%s\n", error.what());
    state->no_device = state->through = true;
  }
  std::fflush(stdout);
  std::exit(0);  // with the destructors of static objects
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (!parse(argc, argv)) {
    std::fprintf(stderr,
                 "weir_sweep allocations|BACKEND [--code=N] [--stand-in] [--cold] [--at=N] [--first=N] [--stride=M]\n");
    return 2;
  }
  if (::getenv("WEIR_LOG") == nullptr) ::setenv("WEIR_LOG", options.of_allocations ? "error" : "warn", 1);
  state = static_cast<State*>(::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::uint64_t crashes = 0;
  const auto end_of = [&](pid_t child) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child) std::exit(99);
    if (status != 0) ++crashes;
    return status == 0;
  };
  for (state->call = options.first; !state->through; state->call += options.stride) {
    if (!end_of(start()) && !options.cold) ++state->failed;
    if (state->suspect != 0) {
      const State before = *state;
      const Options given = options;
      options.confirms = true;
      options.only = state->call = state->suspect;
      (void)end_of(start());
      options = given;
      const std::uint64_t leaks = state->leaks;
      *state = before;
      state->leaks = leaks;
      state->suspect = 0;
    }
    if (options.only != 0) break;
  }
  if (state->no_device) return options.of_allocations ? 99 : 77;
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("calls failed %llu, absorbed %llu, left behind and logged %llu, leaks %llu, crashes %llu, wrong %llu\n",
              number(state->failed), number(state->absorbed), number(state->left_behind), number(state->leaks),
              number(crashes), number(state->wrongs));
  return crashes == 0 && state->wrongs == 0 && state->leaks == 0 ? 0 : 1;
}
