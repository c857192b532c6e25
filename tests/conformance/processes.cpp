// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "capture.hpp"
#include "process.hpp"

// Cases that need another process, and the start of that process.

namespace conformance {
namespace {

std::vector<std::string>& command() {
  static auto& words = *new std::vector<std::string>;
  return words;
}

std::vector<std::string> command_of(const std::string& part, const std::string& argument) {
  std::vector<std::string> words = command();
  words.push_back("--child=" + part);
  words.push_back("--child-argument=" + argument);
  return words;
}

// A child that plays a part.
class Child : public Process {
 public:
  explicit Child(const std::string& part, const std::string& argument = "-")
      : Process(command_of(part, argument), STDOUT_FILENO) {}

  /// The child's next line, without its end; empty if none comes within the case's patience.
  std::string line() {
    std::string text;
    (void)read(text, std::chrono::steady_clock::now() + patience);
    return text;
  }
  ChildResult wait() {
    ChildResult r;
    for (std::string l = line(); !l.empty(); l = line()) r.output += l + "\n";
    const int status = end();
    r.exited = WIFEXITED(status);
    r.status = r.exited ? WEXITSTATUS(status) : WTERMSIG(status);
    return r;
  }
};

std::string to_hex(const weir::InterprocessHandle& handle) {
  std::string text;
  for (const std::byte b : handle.bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", std::to_integer<unsigned>(b));
    text += digits.data();
  }
  return text;
}

weir::InterprocessHandle from_hex(const std::string& text) {
  weir::InterprocessHandle handle;
  for (std::size_t i = 0; i < handle.bytes.size() && 2 * i + 1 < text.size(); ++i) {
    handle.bytes[i] = static_cast<std::byte>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  return handle;
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string hear() {
  std::array<char, 64> text{};
  return std::fgets(text.data(), text.size(), stdin) != nullptr ? text.data() : "";
}

// --- The parts that children play -------------------------------------------------------------------------------------

// Opens the parent's event, says whether it is complete, waits for it, and says so.
int play_event(const std::string& handle) {
  const EventPtr event = device().open_event(from_hex(handle));
  say(event->is_complete() ? "complete" : "not complete");
  const StreamPtr s = device().create_stream();
  s->wait(*event);
  s->synchronize();
  event->synchronize();
  say(event->is_complete() ? "complete" : "not complete");
  return 0;
}

// Opens the parent's memory of 100 words, says what is in it, and fills it with another value.
int play_memory(const std::string& handle) {
  const weir::AllocationPtr memory = device().open_allocation(from_hex(handle), 100 * sizeof(std::uint32_t));
  const StreamPtr s = device().create_stream();
  Values words(100);
  s->copy_bytes(words.data(), memory->data(), memory->size_bytes());
  s->synchronize();
  say(std::to_string(words.front()) + " " + std::to_string(words.back()));
  weir::detail::fill_elements(*s, memory->data(), 43, 4, 100);
  s->synchronize();
  say("written");
  (void)hear();
  return 0;
}

// Makes the device fail, and says what synchronize and a callback make of it.
int play_fault() {
  ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would make an exit of it
  const auto kernel = device().compile("extern \"C\" __global__ void k(unsigned* p) { *p = 1; }")->untyped_kernel("k");
  const StreamPtr s = device().create_stream();
  auto* const nowhere = reinterpret_cast<unsigned*>(std::uintptr_t{64});
  std::atomic<bool> called{false}, told{false};
  s->launch(kernel, {}, nowhere);
  if (device().supports(Feature::stream_callbacks)) {
    try {
      s->add_callback([&](Stream&, std::error_code status) {
        told = static_cast<bool>(status);
        called = true;
      });
    } catch (const weir::Error&) {
      called = told = true;  // the fault came before the callback could be enqueued, and said so
    }
  } else {
    called = told = true;
  }
  std::string outcome = "no error";
  try {
    s->synchronize();
  } catch (const weir::Error& e) {
    outcome = std::string(weir::to_string(e.errc()));
  }
  const bool was_called = eventually([&] { return called.load(); });
  say(outcome + (was_called ? " called" : " not called") + (told ? " told" : " not told"));
  std::fflush(stdout);
  ::_exit(0);  // what is left of the device is not worth an orderly end
}

constexpr int hung = 3;  // exit status

void show_own_calls(int) {
  std::array<void*, 64> calls{};
  ::dprintf(STDERR_FILENO, "thread %ld:\n", ::syscall(SYS_gettid));
  ::backtrace_symbols_fd(calls.data(), ::backtrace(calls.data(), static_cast<int>(calls.size())), STDERR_FILENO);
}

// Where each thread is, one after another, and the end.
void show_all_calls(int) {
  ::dprintf(STDERR_FILENO, "process %d does not end:\n", ::getpid());
  DIR* const threads = ::opendir("/proc/self/task");
  while (const dirent* const thread = threads != nullptr ? ::readdir(threads) : nullptr) {
    const long id = std::strtol(thread->d_name, nullptr, 10);
    if (id == 0) continue;
    ::syscall(SYS_tgkill, ::getpid(), id, SIGUSR2);
    ::usleep(50'000);
  }
  ::_exit(hung);
}

/// Ends this process with the status `hung` if it is there after so many seconds. What it is about then goes to standard
/// error.
void end_after(unsigned seconds) {
  std::array<void*, 1> first{};
  (void)::backtrace(first.data(), 1);  // the first call loads a library
  ::signal(SIGUSR2, show_own_calls);
  ::signal(SIGALRM, show_all_calls);
  ::alarm(seconds);
}

/// Has everything alive at its end, work under way among it. `seed` draws the order in which things go, and whether they go
/// in main or behind it.
int play_exit(unsigned seed) {
  struct Everything {
    std::vector<StreamPtr> streams;
    std::vector<EventPtr> events;
    std::vector<Buffer<int>> memory;
    GraphPtr graph;
    GraphExecPtr exec;
    weir::ModulePtr module;
    std::unique_ptr<weir::StreamPool> pool;
    std::unique_ptr<weir::StreamLease> lease;
    std::vector<std::function<void()>> ends;

    Everything() {
      ends = {[this] { streams.clear(); }, [this] { events.clear(); }, [this] { memory.clear(); },
              [this] { graph.reset(); },   [this] { exec.reset(); },   [this] { module.reset(); },
              [this] { pool.reset(); },    [this] { lease.reset(); }};
    }
    void end() {
      for (const auto& one : std::exchange(ends, {})) one();
    }
    ~Everything() { end(); }
  };
  end_after(30);
  static Everything kept;  // destroyed behind main
  std::shuffle(kept.ends.begin(), kept.ends.end(), std::mt19937(seed));
  kept.streams = {device().create_stream(), device().create_stream({.blocking = true}), device().default_stream()};
  kept.pool = std::make_unique<weir::StreamPool>(device());
  kept.lease = std::make_unique<weir::StreamLease>(kept.pool->lease());
  for (std::size_t i = 0; i < kept.streams.size(); ++i) kept.memory.push_back(device().allocate<int>(1000));
  kept.memory.push_back(device().allocate<int>(1000, MemoryKind::pinned));
  Stream& s = *kept.streams.front();
  if (device().supports(Feature::async_allocation)) kept.memory.push_back(s.allocate_async<int>(1000));
  if (device().supports(Feature::runtime_compilation)) kept.module = device().compile("extern \"C\" __global__ void k() {}");
  if (device().supports(Feature::graph_capture)) {
    kept.graph = s.capture([&](Stream& c) {
      if (captures_host_functions()) c.launch_host_function([] {});
    });
    kept.exec = kept.graph->instantiate();
    kept.exec->launch(s);
  }
  for (int i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < kept.streams.size(); ++j) kept.streams[j]->fill(kept.memory[j], i);
    kept.events.push_back(s.record());
  }
  if (device().supports(Feature::host_functions)) s.launch_host_function([] {});
  if (device().supports(Feature::graph_capture)) kept.streams[1]->begin_capture();
  if (seed % 2 != 0) kept.end();
  say("leaving");
  return 0;
}

/// A detached thread goes on submitting while the process ends, and catches nothing.
int play_submit_at_exit() {
  end_after(30);
  static std::atomic<int> rounds{0};
  std::thread([] {
    for (;; ++rounds) {
      const auto memory = device().allocate<int>(1000);
      device().create_stream()->fill(memory, 1);
    }
  }).detach();
  while (rounds < 20) std::this_thread::yield();
  say("leaving");
  return 0;
}

}  // namespace

int play_child(const std::string& name, const std::string& argument) {
  if (name == "event") return play_event(argument);
  if (name == "memory") return play_memory(argument);
  if (name == "fault") return play_fault();
  if (name == "exit") return play_exit(static_cast<unsigned>(std::stoul(argument)));
  if (name == "submit_at_exit") return play_submit_at_exit();
  std::fprintf(stderr, "weir-conformance: no such part '%s'\n", name.c_str());
  return 2;
}

void set_child_command(std::vector<std::string> words) { command() = std::move(words); }

// --- The cases --------------------------------------------------------------------------------------------------------

namespace {

TEST_SUITE_BEGIN("processes");

CASE(OneStream, "S26 inter-process: another process waits for this one's event") {
  const weir::EventOptions options{.interprocess = true};
  if (!needs(*s, {Feature::interprocess_events}, [&] { (void)device().create_event(options); })) return;
  if (!needs_gate(*s)) return;
  const EventPtr event = device().create_event(options);
  Gate gate(*s);
  s->record(*event);
  Child child("event", to_hex(event->interprocess_handle()));
  CHECK(child.line() == "not complete");
  gate.open();
  CHECK(child.line() == "complete");
  const ChildResult result = child.wait();
  CHECK(result.exited);
  CHECK(result.status == 0);
}

CASE(OneStream, "S26 inter-process: another process reads and writes this one's memory") {
  const auto memory = device().allocate<std::uint32_t>(100);
  if (!needs(*s, {Feature::interprocess_memory}, [&] { (void)device().interprocess_handle(*memory.allocation()); })) return;
  Values back(100);
  s->fill(memory, 42U);
  s->synchronize();
  // A part of it, which only other code can name: the handle would be that of the whole.
  const auto part = device().adopt_memory(memory.data() + 1, sizeof(*memory.data()), MemoryKind::device, {});
  CHECK_REFUSED(Errc::invalid_argument, device().interprocess_handle(*part));
  Child child("memory", to_hex(device().interprocess_handle(*memory.allocation())));
  CHECK(child.line() == "42 42");
  CHECK(child.line() == "written");
  s->copy(back, memory);
  s->synchronize();
  CHECK(back == Values(100, 43));
  child.tell("done");
  CHECK(child.wait().status == 0);
}

TEST_CASE("S19 S29 failure: of work on the device comes out of synchronize, and a callback runs all the same and is told") {
  if (!needs(device(), {Feature::runtime_compilation},
             [] { (void)device().compile("extern \"C\" __global__ void k() {}"); })) {
    return;
  }
  Child child("fault");
  const ChildResult result = child.wait();
  if (!result.exited) return skip("work on the device shares the process's memory, so that a wild write ends the process");
  CHECK(result.output == "device_fault called told\n");
}

// Runs the part for each of so many arguments, a few at once. Each run must end well.
void check_ends(const char* part, unsigned runs) {
  constexpr unsigned at_once = 4;
  // Work is under way at these ends, so that a leak checker finds memory whose only pointer a thread holds.
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 0);
  for (unsigned first = 0; first < runs; first += at_once) {
    std::vector<std::unique_ptr<Child>> children;
    for (unsigned i = 0; i < at_once; ++i) children.push_back(std::make_unique<Child>(part, std::to_string(first + i)));
    for (unsigned i = 0; i < at_once; ++i) {
      INFO("run ", first + i);
      const ChildResult result = children[i]->wait();
      CHECK(result.output == "leaving\n");
      CHECK_MESSAGE(result.exited, "ended by signal " << result.status);
      CHECK_MESSAGE(result.status != hung, "it did not end within 30 s");
      CHECK(result.status == 0);
    }
  }
}

TEST_CASE("S9 exit: with live streams, events, graphs, memory, a capture and pending work, in whatever order they go") {
  check_ends("exit", 12);
}

TEST_CASE("S9 exit: a detached thread that goes on submitting does not end the process by an exception") {
  check_ends("submit_at_exit", 8);
}

CASE(OneStream, "S9 fork: a child that did not open the registry itself gets a clear error") {
  const EventPtr event = s->record();
  s->synchronize();
  std::array<int, 2> pipe{};
  REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    // Nothing but the calls in question: the child of a process with threads may not do much.
    const auto refused = [](auto&& call) {
      try {
        call();
      } catch (const weir::Error& e) {
        return e.errc() == Errc::forked_process;
      } catch (...) {
        return false;
      }
      return false;
    };
    const bool good = refused([&] { s->synchronize(); }) && refused([&] { (void)s->is_complete(); }) &&
                      refused([&] { (void)s->record(); }) && refused([&] { (void)event->is_complete(); }) &&
                      refused([] { (void)device().create_stream(); }) && refused([] { (void)device().allocate<int>(4); }) &&
                      refused([] { (void)weir::Registry::instance(); });
    const char answer = good ? 'y' : 'n';
    const ssize_t written = ::write(pipe[1], &answer, 1);
    ::_exit(written == 1 ? 0 : 1);
  }
  ::close(pipe[1]);
  char answer = '?';
  CHECK(::read(pipe[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  ::close(pipe[0]);
  ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace conformance
