// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "command.hpp"
#include "subprocess.hpp"
#include "weir/version.hpp"

// Tests the manual pages and the completions of the commands.

using weir::test::Outcome;
using weir::test::run;
using weir::test::weir_command;

namespace {

// The options --name in a text.
std::set<std::string> options_in(std::string text) {
  std::erase(text, '\\');  // a manual page writes \-
  static const std::regex option("--[a-z][a-z-]*");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at) names.insert(at->str());
  return names;
}

// The options of a command, or of the command line without one. Its list ends ahead of the exit status.
std::set<std::string> options_of(const std::string& command) {
  const std::string help =
      weir_command(command.empty() ? std::vector<std::string>{"--help"} : std::vector{command, std::string("--help")})
          .output;
  const std::size_t begin = help.find("Options:");
  return options_in(help.substr(begin, help.find("Exit status") - begin));
}

const std::vector<std::string> commands = {"",         "info",   "doctor", "kernels", "cache", "new",   "run",
                                           "timeline", "record", "replay", "race",    "shake", "stuck", "flight"};

std::string source(const std::string& file) {
  std::ifstream in(WEIR_TEST_SOURCE "/" + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A manual page, without its examples, where other programs' options stand.
std::string manual(const std::string& page) {
  std::ifstream in(WEIR_TEST_DOCUMENTS "/" + page + ".1");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.substr(0, text.find(".SH EXAMPLES"));
}

// What bash offers for the last of these words.
std::string offers(const std::string& words) {
  const Outcome outcome = run("/bin/bash", {"-c",
                                            "source \"$0\"; COMP_WORDS=(" WEIR_TEST_COMMAND " " + words +
                                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weir; echo \"${COMPREPLY[*]}\"",
                                            WEIR_TEST_SOURCE "/tools/weir/completions/weir.bash"});
  CHECK(outcome.errors == "");
  return outcome.output;
}

}  // namespace

TEST_CASE("command: the manual pages and the completions are made of its parser, with each command, option and variable") {
  for (const std::string& command : commands) {
    CAPTURE(command);
    std::set<std::string> options = options_of(command);
    CHECK(options.contains("--help"));
    if (!std::ifstream("/bin/bash")) continue;
    const std::set<std::string> offered = options_in(offers(command + " --"));
    CHECK(offered == options);
  }
  const std::set<std::string> of_kernels = options_in(run(WEIR_TEST_KERNEL_TOOL, {"--help"}).output);
  CHECK(options_in(manual("weir-kernels")) == of_kernels);
  CHECK(options_in(manual("weir-conformance")).contains("--known-failures"));
  const std::string page = manual("weir");
  CHECK(std::regex_search(page, std::regex(R"(\.TH WEIR 1 "" "Weir )" + std::string(weir::version()) + "\"")));
  for (const std::string& name : options_of("run")) CHECK_MESSAGE(options_in(page).contains(name), name);
  for (const std::string& command : commands) CHECK(page.find(".SS weir " + command) != std::string::npos);
  CHECK(page.find("documents") == std::string::npos);
  // Every variable that the reference lists.
  const std::string reference = source("docs/environment.md");
  static const std::regex variable("\\| `(WEIR_[A-Z_]+)` \\|");
  int count = 0;
  for (std::sregex_iterator at(reference.begin(), reference.end(), variable), end; at != end; ++at, ++count) {
    CHECK_MESSAGE(page.find(".B " + (*at)[1].str() + "\n") != std::string::npos, "not in the manual: " << (*at)[1].str());
  }
  CHECK(count > 10);
}

TEST_CASE("command: its commands are listed in groups, and what runs a program shows how in its usage") {
  const std::string listing = weir_command({"--help"}).output;
  for (const std::string& command : commands) {
    if (command.empty()) continue;
    CHECK_MESSAGE(listing.find("\n  " + command + " ") != std::string::npos, command);
  }
  CHECK(listing.find("Run a program with a tool:") != std::string::npos);
  CHECK(listing.find("Subcommands:") == std::string::npos);
  for (const char* const command : {"run", "race", "shake", "timeline", "record"})
    CHECK(weir_command({command, "--help"}).says("[OPTIONS] -- PROGRAM [ARGUMENT]…\n"));
  const Outcome wrong = weir_command({"info", "--nosuch"});
  CHECK(wrong.status == 2);
  CHECK(wrong.complains("weir info --help lists the commands and options"));
}

TEST_CASE("command: completion in bash offers commands, options and values, and else leaves the word to files") {
  if (!std::ifstream("/bin/bash")) {
    MESSAGE("there is no /bin/bash: skipped");
    return;
  }
  CHECK(offers("''").starts_with("--help --version "));
  CHECK(offers("in") == "info\n");
  CHECK(offers("shake --backend = c") == "cuda\n");
  CHECK(offers("kernels i") == "inspect\n");
  CHECK(offers("info --backend h") == "hip host\n");
  CHECK(offers("run --tools v") == "validate\n");
  CHECK(offers("shake --schedule =") == "random pct both\n");
  for (const char* const words : {"record --output x", "kernels inspect x", "run -- ba", "run -- cat --"})
    CHECK(offers(words) == "\n");
}
