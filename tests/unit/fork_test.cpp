// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "subprocess.hpp"

// Tests calls in a forked child.

using weir::test::count;
using weir::test::Outcome;
using weir::test::run_child;

namespace {

std::string after_fork(const Outcome& outcome) {
  const std::size_t begin = outcome.output.find("in the child\n");
  const std::size_t end = outcome.output.find("the child's status: ");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  return outcome.output.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("fork: a child of a process that had opened the registry gets a clear error from every entry") {
  const Outcome outcome = run_child(
      {"open", "immediate", "fork", "open", "immediate", "probe", "host", "list", "default", "device", "immediate"});
  const std::string child = after_fork(outcome);
  CHECK(count("error: forked_process\n", child) == 5);
  CHECK(child.find("Registry::instance: ") != std::string::npos);
  CHECK(child.find("exec") != std::string::npos);  // the remedy
  CHECK(outcome.says("the child's status: 0"));
  CHECK(outcome.says("the parent goes on: immediate"));
}

TEST_CASE("fork: a child of a process that only looked at the registry is refused, too") {
  const Outcome outcome = run_child({"probe", "nosuch", "fork", "open", "immediate"});
  CHECK(count("error: forked_process\n", after_fork(outcome)) == 1);
}

TEST_CASE("fork: inherited objects refuse calls and can be dropped") {
  const Outcome outcome = run_child({"remain", "immediate", "fork", "use_inherited"});
  const std::string child = after_fork(outcome);
  CHECK(count("error: forked_process\n", child) == 6);
  CHECK(child.find("error: stream_closed") == std::string::npos);
  CHECK(outcome.says("the child's status: 0"));  // after the destructors of what it inherited
  CHECK(outcome.errors.empty());
}

TEST_CASE("fork: a child of a process that had not opened the registry opens it itself, and so do its own children not") {
  const Outcome outcome = run_child({"log", "x", "fork", "open", "immediate", "fork", "open", "immediate"});
  CHECK(outcome.count("opened: immediate") == 1);
  CHECK(outcome.count("in the child\n") == 2);
  CHECK(outcome.count("error: forked_process") == 1);
  CHECK(outcome.count("the child's status: 0") == 2);
  CHECK(outcome.count("the parent goes on: immediate") == 2);
}

TEST_CASE("fork: a registry that could not be opened leaves no mark") {
  const Outcome outcome = run_child({"open", "immediate", "fork", "open", "immediate"}, {{"WEIR_BACKEND", ","}});
  CHECK(outcome.count("error: invalid_environment") == 3);  // before, in the child, and in the parent afterwards
  CHECK_FALSE(outcome.says("forked_process"));
}
