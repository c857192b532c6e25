// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/tools/run_program.hpp"
#include "tests/tools/stuck_programs.hpp"

// Tests that programs that hang are reported, with the work that they wait for, and that slow ones continue.

namespace {

using weir::test::Environment;
using weir::test::Outcome;
using weir::test::StuckProgram;

struct Run {
  const StuckProgram* program;
  Outcome outcome;
};

/// Runs all of them at the same time, since they sleep.
std::vector<Run> run_all(const std::vector<StuckProgram>& programs, const Environment& environment, int seconds = 60) {
  std::vector<std::future<Outcome>> running;
  for (const StuckProgram& program : programs) {
    running.push_back(std::async(std::launch::async, [&] {
      Environment all = {{"WEIR_BACKEND", "host"}, {"WEIR_HOST_DEVICES", "2"}, {"WEIR_HOST_THREADS", "2"}};
      all.insert(environment.begin(), environment.end());
      // A hang ends by a signal, so that it is told and not waited for.
      return weir::test::run(WEIR_STUCK_PROGRAMS, {program.name, std::to_string(seconds)}, all);
    }));
  }
  std::vector<Run> runs;
  for (std::size_t i = 0; i < programs.size(); ++i) runs.push_back({&programs[i], running[i].get()});
  return runs;
}

/// What the program has printed as "a=host:0 stream 0x55…".
std::map<std::string, std::string> names_in(const std::string& output) {
  std::map<std::string, std::string> names;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t equals = line.find('='); equals != line.npos)
      names[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return names;
}

/// Whether the circle of streams is told, wherever it begins.
bool tells_circle(const Outcome& outcome, const std::string& members) {
  const auto names = names_in(outcome.output);
  std::istringstream words(members);
  std::vector<std::string> circle{std::istream_iterator<std::string>(words), {}};
  for (std::size_t i = 0; i < circle.size(); ++i) {
    std::string text = "a circle: ";
    for (const std::string& member : circle) text += names.at(member) + " -> ";
    if (outcome.complains(text + names.at(circle.front()) + "\n")) return true;
    std::rotate(circle.begin(), circle.begin() + 1, circle.end());
  }
  return false;
}

/// One of the texts that "|" separates.
bool tells(const Outcome& outcome, std::string_view texts) {
  for (std::size_t begin = 0; begin <= texts.size();) {
    const std::size_t end = std::min(texts.find('|', begin), texts.size());
    std::string text(texts.substr(begin, end - begin));
    constexpr std::string_view circle = "circle: ";
    if (text.starts_with(circle)) {
      if (tells_circle(outcome, text.substr(circle.size()))) return true;
    } else {
      for (const auto& [name, stream] : names_in(outcome.output)) {
        const std::string place = "{" + name + "}";
        for (std::size_t at = 0; (at = text.find(place, at)) != text.npos;) text.replace(at, place.size(), stream);
      }
      if (outcome.complains(text)) return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace

TEST_CASE("stuck: WEIR_STUCK tells of a wait that takes too long what it waits for, and changes nothing") {
  for (const Environment& schedule : {Environment(), {{"WEIR_SCHEDULE", "1"}}, {{"WEIR_SCHEDULE", "pct:2"}}}) {
    Environment environment = {{"WEIR_STUCK", "1500ms"}};  // all run at once, on a busy machine
    environment.insert(schedule.begin(), schedule.end());
    for (const Run& run : run_all(weir::test::deadlocks(), environment, 10)) {
      CAPTURE(std::string(run.program->name));
      CAPTURE(run.outcome.errors);
      CHECK(run.outcome.status == 128 + 14);  // the test's own end
      CHECK(run.outcome.complains("weir stuck: process "));
      CHECK(run.outcome.complains(" has been in "));
      CHECK(run.outcome.complains("  no stream can continue by itself: a thread of the program, or another process, must"));
      for (const char* const text : run.program->says) {
        CAPTURE(text);
        CHECK(tells(run.outcome, text));
      }
    }
  }
  int told = 0;
  for (const Run& run : run_all(weir::test::slow_programs(), {{"WEIR_STUCK", "100ms"}})) {
    CAPTURE(std::string(run.program->name));
    CAPTURE(run.outcome.errors);
    CHECK(run.outcome.status == 0);
    told += run.outcome.complains("weir stuck: process ") ? 1 : 0;
  }
  CHECK(told >= 10);  // not those whose thread is not in a call of Weir's
}

TEST_CASE("stuck: a slow program goes on under a schedule, whoever ends its wait") {
  for (const char* const schedule : {"1", "pct:2"}) {
    CAPTURE(schedule);
    for (const Run& run : run_all(weir::test::slow_programs(), {{"WEIR_SCHEDULE", schedule}})) {
      CAPTURE(std::string(run.program->name));
      CAPTURE(run.outcome.errors);
      CHECK(run.outcome.status == 0);
    }
  }
}

#ifdef WEIR_TEST_BRIDGE
TEST_CASE("stuck: of a GPU the journal knows what streams wait for, and WEIR_STUCK switches it on") {
  const Outcome outcome =
      weir::test::run(WEIR_STUCK_PROGRAMS, {"crosswise", "3"},
                      weir::test::bridge({{"WEIR_ENABLE_FEATURES", "wait_value_32"}, {"WEIR_STUCK", "300ms"}}));
  CAPTURE(outcome.errors);
  CHECK(outcome.complains(" has been in Stream::synchronize of hip:0 stream 0x"));
  CHECK(outcome.complains("(32 bits) to be 1, now it is 0, followed by 1 operation"));
  CHECK(tells(outcome, "{b} would write that value: a written value, 1 operation further on"));
  CHECK(tells(outcome, "circle: a b"));
}
#endif

TEST_CASE("stuck: weir stuck asks a process that was started with WEIR_STUCK, and says how to start one that was not") {
  const std::string program = WEIR_STUCK_PROGRAMS " crosswise 20", command = WEIR_STUCK_COMMAND " ";
  // Until the program has come so far.
  const std::string ask =
      " & for i in $(seq 100); do sleep 0.1; text=$(" + command +
      "stuck $! 2> /dev/null); case $text in *'has been in'*) echo \"$text\"; break ;; esac; done; kill $!";
  const Environment host = {{"WEIR_BACKEND", "host"}};
  const Outcome told = weir::test::run("/bin/sh", {"-c", command + "run --stuck=1min -- " + program + ask}, host);
  CAPTURE(told.output);
  CAPTURE(told.errors);
  CHECK(told.says("weir stuck: process "));
  CHECK(told.says(" has been in Stream::synchronize of host:0 stream 0x"));
  CHECK(told.says(" would write that value"));
  CHECK_FALSE(told.complains("weir stuck: process "));  // a minute is not over

  const Outcome other =
      weir::test::run("/bin/sh", {"-c", "sleep 5 & " + command + "stuck $!; status=$?; kill $!; exit $status"});
  CHECK(other.status == 1);
  CHECK(other.complains("cannot report: start the program again with 'weir run --stuck -- PROGRAM'"));
  const Outcome none = weir::test::run(WEIR_STUCK_COMMAND, {"stuck", "99999999"});
  CHECK(none.status == 1);
  CHECK(none.complains("process 99999999 does not exist"));
  const Outcome usual = weir::test::run(WEIR_STUCK_COMMAND, {"run", "--stuck", "--", "/usr/bin/env"});
  CHECK(usual.says("WEIR_STUCK=30s\n"));
}

TEST_CASE("stuck: a child that a process has forked does not stand for it when it is gone") {
  const Outcome parent =
      weir::test::run(WEIR_STUCK_PROGRAMS, {"forks", "20"}, {{"WEIR_BACKEND", "host"}, {"WEIR_STUCK", "1min"}});
  CAPTURE(parent.errors);
  REQUIRE(parent.status == 0);
  std::istringstream numbers(parent.output);
  int process = 0, child = 0;
  numbers >> process >> child;
  const Outcome asked = weir::test::run(WEIR_STUCK_COMMAND, {"stuck", std::to_string(process)});
  CAPTURE(asked.errors);
  CHECK(asked.complains("process " + std::to_string(process) + " does not exist"));
  CHECK(::kill(child, SIGKILL) == 0);  // it is there still
}

TEST_CASE("stuck: a program that hangs ends by the time limit of weir shake, and a time that is none is refused") {
  for (const char* const time : {"", "30", "s", "0s", "-1s", "30 s", "1h"}) {
    CAPTURE(time);
    const Outcome outcome = weir::test::run(WEIR_STUCK_PROGRAMS, {"crosswise", "20"}, {{"WEIR_STUCK", time}});
    CHECK(outcome.status == 1);
    CHECK(outcome.complains("it is not a time; set it to a whole number and ms, s or min, such as 30s, or unset it"));
  }
  const Outcome shaken =
      weir::test::run(WEIR_STUCK_COMMAND, {"shake", "--seeds=2", "--timeout=2", "--", WEIR_STUCK_PROGRAMS, "crosswise"},
                      {{"WEIR_STUCK", "1s"}});
  CAPTURE(shaken.errors);
  CHECK(shaken.status == 1);
  CHECK(shaken.complains("2 of 2 schedules failed: 1 (hung) pct:2 (hung)"));
  CHECK(shaken.complains("a circle: "));
}

TEST_CASE("stuck: another process that answers in the place of the one that is asked for is not believed") {
  const pid_t asked = ::fork();
  if (asked == 0) {
    ::alarm(60);
    ::pause();
    ::_exit(0);
  }
  const std::string name = "weir-stuck-" + std::to_string(asked);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(file, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) == 0);
  REQUIRE(::listen(file, 1) == 0);
  std::thread impostor([&] {
    pollfd someone{file, POLLIN, 0};
    if (::poll(&someone, 1, 60000) != 1) return;
    const int connection = ::accept(file, nullptr, nullptr);
    (void)::send(connection, "\x1b[31m all is well\n", 18, MSG_NOSIGNAL);  // the command may have left
    ::close(connection);
  });
  const weir::test::Outcome outcome = weir::test::run(WEIR_STUCK_COMMAND, {"stuck", std::to_string(asked)});
  impostor.join();
  ::close(file);
  ::kill(asked, SIGKILL);
  ::waitpid(asked, nullptr, 0);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.empty());
  CHECK(outcome.complains("is not the process that answers: that is process " + std::to_string(::getpid())));
}

TEST_CASE("stuck: what is no number of a process is refused in one line") {
  for (const char* const wrong : {"abc", "0", "99999999999999"}) {
    const weir::test::Outcome outcome = weir::test::run(WEIR_STUCK_COMMAND, {"stuck", wrong});
    CHECK(outcome.status == 2);
    CHECK(outcome.complains("'" + std::string(wrong) + "' is not a process id"));
  }
}
