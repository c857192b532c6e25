// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "command.hpp"
#include "subprocess.hpp"

// Tests the output that commands write only to a terminal. The program `script` provides a terminal.

using weir::test::Environment;
using weir::test::Outcome;

namespace {

bool is_there() {
  const bool found = std::ifstream("/usr/bin/script").good();
  if (!found) MESSAGE("there is no /usr/bin/script: skipped");
  return found;
}

// Both streams of a command, as a terminal gets them.
Outcome on_terminal(const std::string& program, const std::string& arguments, Environment environment = {}) {
  environment.try_emplace("TERM", "xterm");
  environment.try_emplace("NO_COLOR", "");
  environment.try_emplace("WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS);
  return weir::test::run("/usr/bin/script", {"-qec", program + " " + arguments, "/dev/null"}, environment);
}

}  // namespace

TEST_CASE("terminal: states in colour, unless the user or the terminal does not want that") {
  if (!is_there()) return;
  const std::string info = "info --backend immediate --backend text";
  const Outcome coloured = on_terminal(WEIR_TEST_COMMAND, info);
  CHECK(coloured.status == 1);
  CHECK_MESSAGE(coloured.says("\033[1mimmediate\033[0m   \033[32musable\033[0m"), coloured.output);
  CHECK(coloured.says("\033[33mplugin incompatible\033[0m"));
  CHECK_FALSE(on_terminal(WEIR_TEST_COMMAND, info, {{"NO_COLOR", "1"}}).says("\033["));
  CHECK_FALSE(on_terminal(WEIR_TEST_COMMAND, info, {{"TERM", "dumb"}}).says("\033["));
  CHECK_FALSE(weir::test::weir_command({"info", "--backend", "immediate"}, {{"TERM", "xterm"}}).says("\033["));
}

TEST_CASE("terminal: shake and conformance show how far they are, there and nowhere else") {
  if (!is_there()) return;
  const Outcome shake = on_terminal(WEIR_TEST_COMMAND, "shake --seeds=3 -- /bin/false");
  CHECK(shake.status == 1);
  CHECK_MESSAGE(shake.says("\r[3/3, 2 failed] \033[K"), shake.output);
  CHECK(shake.says("\r\033[Kweir shake: 3 of 3 schedules failed"));
  CHECK_FALSE(weir::test::weir_command({"shake", "--seeds=3", "--", "/bin/false"}, {{"TERM", "xterm"}}).complains("[3/3"));

  const std::string creation = "--backend immediate --test-suite=creation";
  const Outcome suite = on_terminal(WEIR_TEST_CONFORMANCE, creation);
  CHECK_MESSAGE(suite.says("\r[1/"), suite.output);
  CHECK_FALSE(on_terminal(WEIR_TEST_CONFORMANCE, creation, {{"TERM", "dumb"}}).says("\r[1/"));
}
