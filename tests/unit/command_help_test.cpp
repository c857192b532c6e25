// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
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
  const std::size_t begin = command == "conformance" ? 0 : help.find("Options:");
  // What other programs' options follow is theirs.
  return options_in(help.substr(
      begin, std::min({help.find("Exit status"), help.find("Other options"), help.find("Options of doctest")}) - begin));
}

const std::vector<std::string> commands = {"",    "info",     "doctor", "kernels", "cache", "new",   "run",
                                           "timeline", "record", "replay", "race", "shake", "stuck", "flight", "bench",
                                           "conformance"};

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
std::string offers(const std::string& words, const std::string& program = "weir") {
  const Outcome outcome = run("/bin/bash", {"-c",
                                            "source \"$0\"; COMP_WORDS=(" + program + " " + words +
                                                "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _weir; echo \"${COMPREPLY[*]}\"",
                                            WEIR_TEST_DOCUMENTS "/weir.bash"});
  CHECK(outcome.errors == "");
  return outcome.output;
}

}  // namespace

TEST_CASE("command: the manual pages and the completions are made of its parser, with each command, option and variable") {
  std::set<std::string> all;
  for (const std::string& command : commands) {
    CAPTURE(command);
    std::set<std::string> options = options_of(command);
    if (command == "cache") options.merge(options_in(weir_command({"cache", "clear", "--help"}).output));
    if (command == "conformance") options.erase("--dt-help");  // doctest's, in the text
    CHECK(options.contains("--help"));
    all.insert(options.begin(), options.end());
    if (!std::ifstream("/bin/bash")) continue;
    const std::set<std::string> offered = options_in(offers((command == "cache" ? "cache clear" : command) + " --"));
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
  all.insert(of_kernels.begin(), of_kernels.end());
  for (const char* const file : {"_weir", "weir.bash", "weir.fish"}) {
    CAPTURE(file);
    std::ifstream in(WEIR_TEST_DOCUMENTS "/" + std::string(file));
    // fish writes the names without dashes.
    const std::string text = std::regex_replace(std::string{std::istreambuf_iterator<char>(in), {}},
                                                std::regex("complete(.*) -l ([a-z-]+) "), "complete$1 --$2 ");
    for (const std::string& name : all) CHECK_MESSAGE(options_in(text).contains(name), name);
    for (const std::string& command : commands) CHECK(text.find(command) != std::string::npos);
  }
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
    if (command.empty() || command == "bench") continue;  // bench is listed where its programs are installed
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

TEST_CASE("command: completion in bash offers values, programs and files") {
  if (!std::ifstream("/bin/bash")) {
    MESSAGE("there is no /bin/bash: skipped");
    return;
  }
  CHECK(offers("''").starts_with("--help --version "));
  CHECK(offers("in") == "info\n");
  CHECK(offers("shake --backend = c") == "cuda\n");
  CHECK(offers("conformance --require h") == "hip host\n");
  CHECK(offers("conformance --known-failures = /bin/bas").find("/bin/bash") != std::string::npos);
  CHECK(offers("kernels i") == "inspect\n");
  CHECK(offers("kernels inspect /bin/bas").find("/bin/bash") != std::string::npos);
  CHECK(offers("cache ''") == "--help list size clear\n");
  CHECK(offers("new /us") == "/usr\n");
  CHECK(offers("--", "weir-conformance").find("--junit") != std::string::npos);
  CHECK(offers("--standard =", "weir-kernels") == "14 17 20\n");
  CHECK(offers("d") == "doctor\n");
  CHECK(offers("info --backend h") == "hip host\n");
  CHECK(offers("run --backend = c") == "cuda\n");
  CHECK(offers("run --log =") == "error warn info debug\n");
  CHECK(offers("run -- bash").find("bash") != std::string::npos);
  CHECK(offers("run -- cat /bin/bas").find("/bin/bash") != std::string::npos);
}

TEST_CASE("command: fish and zsh read their completions") {
  const auto reads = [](const char* shell, const std::vector<std::string>& arguments) {
    const Outcome outcome = run("/usr/bin/env", [&] {
      std::vector<std::string> words = arguments;
      words.insert(words.begin(), shell);
      return words;
    }());
    if (outcome.status == 127) MESSAGE("there is no " << shell << ": skipped");
    CHECK((outcome.status == 0 || outcome.status == 127));
    CHECK((outcome.status == 127 || outcome.errors == ""));
    return outcome;
  };
  (void)reads("zsh", {"-n", WEIR_TEST_DOCUMENTS "/_weir"});
  const std::string file = WEIR_TEST_DOCUMENTS "/weir.fish";
  const Outcome fish = reads("fish", {"--no-config", "-c",
                                      "source " + file +
                                          "; complete -C 'weir cache clear --o'; complete -C 'weir-kernels --no'; "
                                          "complete -C 'weir run -- /bin/bas'"});
  if (fish.status == 127) return;
  CHECK(fish.says("--older-than"));
  CHECK(fish.says("--no-source"));
  CHECK(fish.says("/bin/bash"));
}
