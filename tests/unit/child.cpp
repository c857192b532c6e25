// SPDX-License-Identifier: Apache-2.0

// The fresh process of unit tests. Performs the commands in its arguments, one after another, and prints the result of each.
// For an exception, prints "error: CODE" and "what: TEXT" and continues with the next command. So a command must read its
// arguments before it acts.

#include <dlfcn.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/quiet.hpp"
#include "weir/plugin/support.hpp"
#include "weir/weir.hpp"

namespace {

using Arguments = std::deque<std::string>;

std::string take(Arguments& arguments) {
  if (arguments.empty()) {
    std::fputs("child: an argument is missing\n", stderr);
    std::exit(99);
  }
  std::string first = std::move(arguments.front());
  arguments.pop_front();
  return first;
}

template <class F>
bool attempt(F&& f) {
  try {
    f();
    return true;
  } catch (const weir::Error& error) {
    std::printf("error: %s\nwhat: %s\n", std::string(to_string(error.errc())).c_str(), error.what());
  } catch (const std::exception& exception) {
    std::printf("error: not a weir::Error\nwhat: %s\n", exception.what());
  }
  return false;
}

void print(const weir::BackendInfo& info) {
  std::printf("%s: %s\nreason: %s\nplugin: %s %s\n", info.name.c_str(), std::string(to_string(info.state)).c_str(),
              info.reason.c_str(), info.plugin_path.c_str(), info.plugin_version.c_str());
  for (const weir::LoadAttempt& a : info.attempts) std::printf("tried: %s: %s\n", a.path.c_str(), a.outcome.c_str());
}

void open(Arguments& arguments) {
  const std::string name = take(arguments);
  std::printf("opened: %s\n", weir::Registry::instance().open(name).name().c_str());
}

void probe(Arguments& arguments) {
  const std::string name = take(arguments);
  print(weir::Registry::instance().probe(name));
}

void list(Arguments&) {
  for (const weir::BackendInfo& info : weir::Registry::instance().probe_all()) print(info);
}

void default_device(Arguments&) { std::printf("default: %s\n", weir::default_device().describe().c_str()); }

void device(Arguments& arguments) {
  const std::string name = take(arguments);
  std::printf("device: %s\n", weir::device(name).describe().c_str());
}

void feature(Arguments& arguments) {
  const std::string name = take(arguments);
  const weir::Feature feature = weir::parse_feature(take(arguments)).value();
  const weir::Device& device = weir::device(name);
  std::printf("%s: %s: %s\n", std::string(to_string(feature)).c_str(),
              std::string(to_string(device.feature(feature).support)).c_str(), device.feature(feature).reason.c_str());
}

void number(Arguments& arguments) {
  const std::string name = take(arguments);
  std::printf("number: %ld\n", weir::support::environment_number(name.c_str(), -1, -5, 100));
}

void path(Arguments& arguments) {
  const std::string name = take(arguments);
  std::printf("path: %s\n", weir::support::environment_path(name.c_str()).value_or("(not set)").c_str());
}

void log(Arguments& arguments) {
  const std::string line = take(arguments);
  using weir::support::LogLevel;
  for (const LogLevel level : {LogLevel::error, LogLevel::warn, LogLevel::info, LogLevel::debug}) {
    weir::support::log(level, line);
  }
}

void log_from_threads(Arguments&) {
  std::vector<std::thread> threads;
  for (char c = 'a'; c < 'i'; ++c) {
    threads.emplace_back([c] {
      for (int i = 0; i < 200; ++i) weir::support::log(weir::support::LogLevel::error, std::string(100, c));
    });
  }
  for (std::thread& t : threads) t.join();
}

// Many threads want the same backend at once.
void race(Arguments& arguments) {
  const std::string name = take(arguments);
  std::vector<std::thread> threads;
  std::vector<const void*> found(16);
  for (const void*& f : found) threads.emplace_back([&] { f = weir::Registry::instance().probe(name).backend; });
  for (std::thread& t : threads) t.join();
  bool same = true;
  for (const void* f : found) same = same && f == found[0];
  std::printf("all the same: %s\n", same ? "yes" : "no");
}

// One backend's driver takes its time to start; another one is to be had meanwhile.
void slow_and_quick(Arguments&) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(99);
  ::setenv("WEIR_TEST_FACTORY", "waits", 1);
  ::setenv("WEIR_TEST_PIPE", std::to_string(ends[0]).c_str(), 1);
  weir::Registry& registry = weir::Registry::instance();
  std::thread slow([&] { attempt([&] { (void)registry.probe("misfit"); }); });
  attempt([&] { std::printf("meanwhile: %s\n", registry.open("immediate").name().c_str()); });
  if (::write(ends[1], "x", 1) != 1) std::exit(99);
  slow.join();
}

// In a forked process: what follows, as far as the end of the arguments. Prints what came of it as its own.
void fork_and(Arguments& arguments, const std::function<void(Arguments&)>& go_on) {
  std::fflush(stdout);
  weir::test::wait_until_others_sleep();
  const pid_t pid = ::fork();
  if (pid == 0) {
    std::puts("in the child");
    go_on(arguments);
    std::exit(0);  // with destructors of static objects, as a program would
  }
  arguments.clear();
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) std::exit(99);
  std::printf("the child's status: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  attempt([] { std::printf("the parent goes on: %s\n", weir::Registry::instance().open("immediate").name().c_str()); });
}

// Objects that live until the process has left main.
struct Remaining {
  weir::StreamPtr stream, default_stream;
  weir::EventPtr event;
  weir::Buffer<float> buffer;
  ~Remaining() {
    // Using them in the destructor of a static object is allowed, too.
    if (stream && std::getenv("WEIR_TEST_LATE") != nullptr) {
      attempt([&] {
        stream->fill(buffer, 1.0F);
        stream->synchronize();
        weir::Registry::instance().open("immediate").device(0).create_stream()->synchronize();
        std::puts("used after main");
      });
    }
  }
} remaining;

void remain(Arguments& arguments) {
  const std::string name = take(arguments);
  weir::Device& device = weir::device(name);
  remaining.stream = device.create_stream();
  remaining.default_stream = device.default_stream();
  remaining.buffer = device.allocate<float>(1000);
  remaining.event = remaining.stream->record();
}

// A driver that is opened once the reclaimer's thread is there.
void reclaim_beside_later_driver(Arguments&) {
  static std::atomic<bool> has_ended = false;
  static std::atomic<int> late_calls = 0;
  weir::support::reclaim([] { return true; });
  std::atexit([] {
    has_ended = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::printf("calls of a driver that has ended: %d\n", late_calls.load());
  });
  weir::Registry::instance().open("immediate");
  weir::support::reclaim([] {
    late_calls += has_ended ? 1 : 0;
    return false;
  });
}

// Each entry of Weir that a forked process could reach by what it has inherited.
void use_inherited(Arguments&) {
  weir::Stream& stream = *remaining.stream;
  attempt([&] { stream.synchronize(); });
  attempt([&] { stream.fill(remaining.buffer, 1.0F); });
  attempt([&] { stream.close(); });
  attempt([&] { (void)remaining.event->is_complete(); });
  attempt([&] { (void)stream.device().create_stream(); });
  attempt([&] { (void)stream.device().allocate<float>(1); });
}

const std::map<std::string, std::function<void(Arguments&)>> commands = {
    {"open", open},
    {"probe", probe},
    {"list", list},
    {"default", default_device},
    {"device", device},
    {"feature", feature},
    {"number", number},
    {"path", path},
    {"log", log},
    {"log_from_threads", log_from_threads},
    {"race", race},
    {"slow_and_quick", slow_and_quick},
    {"reclaim_beside_later_driver", reclaim_beside_later_driver},
    {"remain", remain},
    {"use_inherited", use_inherited},
    {"change_folder",
     [](Arguments& a) {
       if (::chdir(take(a).c_str()) != 0) std::exit(99);
     }},
    {"become_ignoring_children",
     [](Arguments& a) {
       ::signal(SIGCHLD, SIG_IGN);
       std::vector<char*> words;
       for (std::string& word : a) words.push_back(word.data());
       words.push_back(nullptr);
       ::execv(words[0], words.data());
       std::exit(99);
     }},
    {"is_privileged", [](Arguments&) { std::printf("privileged: %s\n", ::getauxval(AT_SECURE) != 0 ? "yes" : "no"); }},
    {"library",
     [](Arguments&) {
       Dl_info info;
       if (::dladdr(reinterpret_cast<const void*>(&weir::error_category), &info) != 0)
         std::printf("library: %s\n", info.dli_fname);
     }},
};

void run(Arguments& arguments) {
  while (!arguments.empty()) {
    const std::string name = take(arguments);
    if (name == "fork") {
      fork_and(arguments, run);
      continue;
    }
    const auto command = commands.find(name);
    if (command == commands.end()) {
      std::fprintf(stderr, "child: there is no command '%s'\n", name.c_str());
      std::exit(99);
    }
    attempt([&] { command->second(arguments); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argv + 1, argv + argc);
  run(arguments);
}
