// SPDX-License-Identifier: Apache-2.0
#include "weir/log.hpp"

#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "subprocess.hpp"
#include "weir/plugin/support.hpp"

// Tests the log and WEIR_LOG.

using weir::test::run_child;

TEST_CASE("log: warnings and errors unless asked otherwise") {
  const auto outcome = run_child({"log", "the line"});
  CHECK(outcome.errors == "weir error: the line\nweir warn: the line\n");
  CHECK(outcome.output.empty());
}

TEST_CASE("log: WEIR_LOG sets the level") {
  CHECK(run_child({"log", "x"}, {{"WEIR_LOG", "error"}}).errors == "weir error: x\n");
  CHECK(run_child({"log", "x"}, {{"WEIR_LOG", "warn"}}).errors == "weir error: x\nweir warn: x\n");
  CHECK(run_child({"log", "x"}, {{"WEIR_LOG", "info"}}).errors == "weir error: x\nweir warn: x\nweir info: x\n");
  CHECK(run_child({"log", "x"}, {{"WEIR_LOG", "debug"}}).errors ==
        "weir error: x\nweir warn: x\nweir info: x\nweir debug: x\n");
}

TEST_CASE("log: an unknown level is an error of the registry, and no warning is lost") {
  for (const std::string level : {"", "loud", "WARN", "warn,info", "2", "cuda=info"}) {
    CAPTURE(level);
    const auto outcome = run_child({"log", "x", "open", "immediate"}, {{"WEIR_LOG", level}});
    CHECK(outcome.complains("weir warn: x\n"));
    CHECK(outcome.says("error: invalid_environment"));
    CHECK(outcome.says("WEIR_LOG='" + std::string(level) + "'"));
    CHECK(outcome.says("error, warn, info or debug"));
  }
}

TEST_CASE("log: one line for one call, whatever is in it and however many threads write") {
  CHECK(run_child({"log", "a\nb\r\nc"}, {{"WEIR_LOG", "error"}}).errors == "weir error: a b  c\n");

  std::istringstream lines(run_child({"log_from_threads"}).errors);
  int count = 0;
  std::set<std::string> distinct;
  for (std::string line; std::getline(lines, line); ++count) distinct.insert(line);
  CHECK(count == 8 * 200);
  CHECK(distinct.size() == 8);
}

TEST_CASE("log: debug tells each file that was tried") {
  const auto outcome = run_child({"open", "immediate"}, {{"WEIR_LOG", "debug"}});
  CHECK(outcome.complains(WEIR_TEST_PLUGINS "/libweir_immediate.so: opened"));
  CHECK(outcome.complains("backend immediate: usable"));
}

TEST_CASE("log: a sink gets each line with its level and part, in place of standard error") {
  using weir::LogLevel;
  std::vector<std::string> lines;
  weir::set_log_sink([&](const weir::LogRecord& record) {
    lines.push_back(std::string(to_string(record.level)).append("|").append(record.part).append("|").append(record.message));
  });
  weir::support::log(LogLevel::warn, "one\n", "two");
  weir::support::log(LogLevel::debug, "nobody asked");
  weir::set_log_level(LogLevel::debug);
  weir::support::log(LogLevel::debug, "three");
  weir::set_log_level(LogLevel::error);
  weir::support::log(LogLevel::warn, "nor this");
  weir::set_log_level(LogLevel::warn);
  weir::set_log_sink({});
  CHECK(lines == std::vector<std::string>{"warn|weir|one two", "debug|weir|three"});
}

TEST_CASE("log: a sink that throws loses no line, and one that calls back is refused") {
  bool refused = false;
  weir::set_log_sink([&](const weir::LogRecord&) {
    try {
      weir::set_log_sink({});
    } catch (const weir::Error& error) {
      refused = error.errc() == weir::Errc::invalid_argument;
    }
  });
  weir::support::log(weir::LogLevel::error, "x");
  weir::set_log_sink({});
  CHECK(refused);
}
