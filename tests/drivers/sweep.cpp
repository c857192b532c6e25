// SPDX-License-Identifier: Apache-2.0

// Runs a program that uses all of Weir, and lets the N-th driver call fail: first its first call, then its second, and so
// on, until a run has no failing call. For each failing call, the program must get a weir::Error with the driver's code, or
// Weir must handle the error itself. Then the process must continue, a further run must have right results, and nothing may
// be leaked. The only exception is an object that the failing call itself should have destroyed; then there must be a log
// line.
//
//   weir_driver_sweep BACKEND         uses the backend's first device: a GPU, or the stand-in in the backend's variables
//     --code=N                        the error code of failing calls; 999 by default, an unknown error
//     --stand-in                      the driver runs no kernels and owns no functions, so results and host
//                                     memory are not checked
//     --cold                          test the calls that open the device, with one process for each
//     --at=N                          only the N-th call
//     --first=N --stride=M            the N-th call and each M-th after it, so that several processes can share the work
//
// Prints a line for each distinct error, "error: CODE | OPERATION", a line for each mistake, and a summary. The exit status
// is 0 if there was no mistake, 77 if there is no device.

#include <execinfo.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "tests/unit/new_sweep/allocator.hpp"
#include "tests/unit/new_sweep/rest.hpp"
#include "tests/unit/new_sweep/scenario.hpp"
#include "weir/plugin/tool.hpp"

namespace {

constexpr unsigned patience_s = 60;  // only a run that hangs takes so long

constexpr std::uint64_t never = UINT64_MAX;

struct Options {
  std::string backend;
  int code = 999;
  bool is_stand_in = false, cold = false;
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

std::string_view without_prefix(std::string_view function) { return function.substr(function.starts_with("hip") ? 3 : 2); }

template <std::size_t N>
bool is_one_of(std::string_view function, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), without_prefix(function)) != std::end(names);
}

/// Calls that make something which another call must end.
bool makes(std::string_view function) {
  constexpr std::string_view names[] = {"StreamCreateWithPriority",
                                        "EventCreate",
                                        "EventCreateWithFlags",
                                        "StreamBeginCapture",
                                        "GraphCreate",
                                        "GraphClone",
                                        "GraphInstantiateWithFlags",
                                        "ModuleLoadDataEx",
                                        "ModuleLoadData",
                                        "MemPoolCreate",
                                        "MemAlloc",
                                        "MemHostAlloc",
                                        "MemAllocManaged",
                                        "Malloc",
                                        "HostMalloc",
                                        "MallocManaged",
                                        "MemHostRegister",
                                        "HostRegister",
                                        "MemAllocAsync",
                                        "MemAllocFromPoolAsync",
                                        "MallocAsync",
                                        "MallocFromPoolAsync"};
  return is_one_of(function, names);
}

bool ends(std::string_view function) {
  constexpr std::string_view names[] = {"StreamDestroy", "EventDestroy",   "GraphDestroy",   "GraphExecDestroy",
                                        "ModuleUnload",  "MemPoolDestroy", "MemFree",        "MemFreeHost",
                                        "Free",          "HostFree",       "HostUnregister", "MemHostUnregister",
                                        "MemFreeAsync",  "FreeAsync"};
  return is_one_of(function, names);
}

/// Where such a call fails, or the one that makes the device current for it, what should have ended is left.
bool ends_or_leads_to_an_end(std::string_view function) {
  return ends(function) || function.ends_with("EndCapture") || function.ends_with("CtxPushCurrent") ||
         function.ends_with("SetDevice") || function.ends_with("GetDevice") || function.ends_with("CtxGetCurrent");
}

/// Counts the calls of the driver, and answers one of them in its place.
class Breaker final : public weir::Tool {
 public:
  bool watches_driver(const weir::Driver&) override { return true; }

  int before_driver_call(const weir::DriverCall& call) noexcept override {
    const std::uint64_t wanted = wanted_.load();
    if (++calls_ != wanted) return 0;
    function = call.function;
    frame_count = ::backtrace(frames, std::size(frames));
    has_failed = true;
    return options.code;
  }
  void after_driver_call(const weir::DriverCall& call) noexcept override {
    if (call.result != 0) return;
    if (makes(call.function)) ++live;
    if (ends(call.function)) --live;
  }

  /// How many calls there were in the last run.
  std::uint64_t calls() const noexcept { return last_calls_; }
  /// The `n`-th call from now on fails; 0: the run is over.
  void arm(std::uint64_t n) noexcept {
    if (n == 0) last_calls_ = calls_.load();
    wanted_ = 0;
    calls_ = 0;
    has_failed = false;
    wanted_ = n;
  }

  std::atomic<bool> has_failed{false};
  bool was_thrown = false;  ///< the program was told by an exception
  std::atomic<std::int64_t> live{0};  ///< what was made and not yet ended
  const char* function = "";          ///< the one that failed
  void* frames[48];
  int frame_count = 0;

 private:
  std::atomic<std::uint64_t> wanted_{0}, calls_{0}, last_calls_{0};
};
Breaker* breaker = nullptr;

void report(const char* what) {
  std::string line = "call " + std::to_string(state->call) + ", " + breaker->function + ": " + what + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) > 0) {
    ::backtrace_symbols_fd(breaker->frames, breaker->frame_count, STDOUT_FILENO);
  }
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

// Whether the error is what comes of the driver's answer.
bool fits(const weir::Error& error) {
  return error.native().code == options.code || error.errc() == weir::Errc::unsupported;
}

enum class Run { through, failed, wrong };

// Runs once, with a failing call or without.
Run run(const sweep::Setting& setting, std::uint64_t failing) {
  Run result = Run::through;
  ::alarm(patience_s);
  breaker->was_thrown = false;
  breaker->arm(failing != 0 ? failing : never);
  const auto wrong = [&](const std::string& what) {
    went_wrong(what);
    result = Run::wrong;
  };
  try {
    if (!sweep::run_scenario(setting)) {
      wrong(breaker->has_failed ? "nothing was thrown, and a result is wrong; the call came from:"
                                : "a result is wrong, and no call failed:");
    } else if (breaker->has_failed) {
      ++state->absorbed;
    }
  } catch (const weir::Error& error) {
    breaker->was_thrown = true;
    note_error(error);
    if (!breaker->has_failed || !fits(error)) wrong(error.what());
  } catch (const std::exception& error) {
    wrong(std::string("threw no weir::Error, but: ") + error.what());
  }
  if (result == Run::through && breaker->has_failed) result = Run::failed;
  breaker->arm(0);
  ::alarm(0);
  return result;
}

struct Left {
  std::int64_t objects, blocks;
  friend Left operator-(Left a, Left b) { return {a.objects - b.objects, a.blocks - b.blocks}; }
  bool is_more_than(Left other, std::int64_t by) const { return objects > other.objects + by || blocks > other.blocks + by; }
};
Left left_at_rest(weir::Device& device) {
  ::alarm(patience_s);
  const std::int64_t objects = sweep::at_rest(device, [] { return breaker->live.load(); });
  const std::int64_t blocks = options.is_stand_in ? 0 : sweep::at_rest(device, [] { return sweep::live_blocks(); });
  ::alarm(0);
  return {objects, blocks};
}

// Whether the call that fails leaves something each time, that other runs do not. What is kept for later use may become
// more, as the wrappers of handles that are not used again. With threads of the backend's own it may be another function
// each time: `at_end` is set if one of them ends something.
bool leaks_again(const sweep::Setting& setting, bool& at_end) {
  for (int round = 0; round < 4; ++round) {
    const Left before = left_at_rest(setting.device);
    for (int i = 0; i < 4; ++i) (void)run(setting, 0);
    const Left between = left_at_rest(setting.device);
    for (int i = 0; i < 3; ++i) {
      (void)run(setting, state->call);
      at_end = at_end || ends_or_leads_to_an_end(breaker->function);
    }
    (void)run(setting, 0);
    if (!(left_at_rest(setting.device) - between).is_more_than(between - before, 2)) return false;
  }
  return true;
}

sweep::Setting make_setting(weir::Device& device) {
  if (!options.is_stand_in) return sweep::make_setting(device);
  return {device, device.load_module(std::as_bytes(std::span("an image"))), false};
}

weir::Device& open_device() {
  auto made = std::make_unique<Breaker>();
  breaker = made.get();
  weir::Tools::add(std::move(made));
  if (options.cold) breaker->arm(state->call);
  return weir::device(options.backend + ":0");
}

// Some calls of a process that has opened the device, and has all that is kept for later use. True behind the last one.
// Some, since a call that fails may leave the process in another state, as with a context that stays current, and so with
// other calls.
bool sweep_warm() {
  weir::Device& device = open_device();
  const sweep::Setting setting = make_setting(device);
  sweep::Log log;
  Left usual{};  // how much more there is after two runs
  for (int i = 0; i < 5; ++i) {
    const Left before = left_at_rest(device);
    for (int j = 0; j < 2; ++j) {
      if (run(setting, 0) != Run::through) return true;  // no call has failed yet
    }
    usual = left_at_rest(device) - before;
  }
  const std::uint64_t calls = breaker->calls();
  for (int i = 0; i < 40; ++i, state->call += options.stride) {
    if (state->call > calls) return true;
    log.clear();
    const Left before = left_at_rest(device);
    const Run result = run(setting, state->call);
    if (result == Run::through) continue;  // another thread has made less of them
    ++state->failed;
    const std::string function = breaker->function;
    const std::string logged = log.text();
    const bool refuses_to_end = breaker->was_thrown && ends(function);  // Stream::close throws it
    bool at_end = ends_or_leads_to_an_end(function);
    if (at_end && logged.find("stays pinned") != std::string::npos) {
      ++state->left_behind;
      return false;  // this process cannot pin that memory again
    }
    if (run(setting, 0) != Run::through) went_wrong("afterwards the same does not work; the call came from:");
    const Left left = left_at_rest(device) - before;
    if (left.is_more_than(usual, 0) && leaks_again(setting, at_end)) {
      if ((!logged.empty() && at_end) || refuses_to_end) {
        ++state->left_behind;
      } else if (!options.confirms) {
        state->suspect = state->call;
        state->call += options.stride;
        break;
      } else {
        ++state->leaks;
        report(("leaks " + std::to_string(left.objects - usual.objects) + " objects of the driver, " +
                std::to_string(left.blocks - usual.blocks) + " blocks of memory, and logs '" + logged + "'")
                   .c_str());
      }
    }
    if (options.only != 0) return true;
  }
  state->call -= options.stride;
  return false;
}

// One call of a process that opens the device.
void sweep_cold() {
  sweep::Log log;
  ::alarm(patience_s);
  try {
    weir::Device& device = open_device();
    const bool failed = breaker->has_failed;
    breaker->arm(0);
    state->through = !failed;
    if (!failed) return;
    ++state->absorbed;
    if (run(make_setting(device), 0) != Run::through) went_wrong("afterwards nothing works; the call came from:");
  } catch (const weir::Error& error) {
    breaker->arm(0);
    note_error(error);
    if (!fits(error)) went_wrong(error.what());
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
      options.backend = argument;
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
    std::fprintf(stderr, "weir_driver_sweep BACKEND [--code=N] [--stand-in] [--cold] [--at=N] [--first=N] [--stride=M]\n");
    return 2;
  }
  if (::getenv("WEIR_LOG") == nullptr) ::setenv("WEIR_LOG", "warn", 1);
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
  if (state->no_device) return 77;
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("driver calls failed %llu, absorbed %llu, left behind and logged %llu, leaks %llu, crashes %llu, wrong %llu\n",
              number(state->failed), number(state->absorbed), number(state->left_behind), number(state->leaks),
              number(crashes), number(state->wrongs));
  return crashes == 0 && state->wrongs == 0 && state->leaks == 0 ? 0 : 1;
}
