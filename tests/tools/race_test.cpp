// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/programs.hpp"
#include "tests/tools/run_program.hpp"

// Tests that the race detector finds the missing wait in each wrong program, and reports nothing for each correct one. The
// tests use the default device of WEIR_TEST_BACKEND, or else the host.

namespace {

using nlohmann::json;
using weir::test::Environment;
using weir::test::Outcome;
using weir::test::Program;
using weir::test::Suite;
using weir::test::TemporaryFolder;

struct Run {
  Outcome outcome;
  json report;
};

Run run_race(const std::vector<std::string>& programs, const std::string& options = "") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/race.json";
  const char* const backend = std::getenv("WEIR_TEST_BACKEND");
  Environment environment = {{"WEIR_TOOLS", "race"}, {"WEIR_RACE", "json=" + file + options}};
  environment["WEIR_BACKEND"] = backend != nullptr ? backend : "host";
  if (environment["WEIR_BACKEND"] == "host") environment["WEIR_HOST_DEVICES"] = "2";
  Run result{weir::test::run(WEIR_TEST_PROGRAMS, programs, environment), {}};
  std::ifstream in(file);
  if (in) result.report = json::parse(in);
  return result;
}
Run run_race(const std::string& program, const std::string& options = "") { return run_race(std::vector{program}, options); }

}  // namespace

TEST_CASE("race: half of forty and more programs are wrong, and those are told") {
  std::vector<std::string> right, wrong;
  for (const Program& program : weir::test::programs()) {
    if (program.suite == Suite::race) (program.reports == 0 ? right : wrong).push_back(program.name);
  }
  CHECK(wrong.size() >= 20);
  CHECK(wrong.size() == right.size());
  // All of a kind in one process, since a process takes long for its first stack.
  const Run good = run_race(right), bad = run_race(wrong);
  CAPTURE(good.outcome.errors);
  REQUIRE(good.report.contains("reports"));
  CHECK(good.report["reports"].empty());
  CHECK(good.outcome.status == 0);
  REQUIRE(bad.report.contains("reports"));
  CHECK(bad.outcome.status == 66);
  int reports = 0;
  for (const Program& program : weir::test::programs()) {
    if (program.suite != Suite::race || program.reports == 0) continue;
    CAPTURE(program.name);
    const std::string function = "::" + program.name.substr(std::strlen("wrong_")) + "<false>";
    const auto is_of_program = [&](const json& report) { return report.dump().find(function) != std::string::npos; };
    CHECK(std::count_if(bad.report["reports"].begin(), bad.report["reports"].end(), is_of_program) == program.reports);
    reports += program.reports;
  }
  CHECK(bad.report["reports"].size() == static_cast<std::size_t>(reports));
}

TEST_CASE("race: a report says who, where and what would mend it") {
  const Run run = run_race("wrong_write_then_read");
  const json& report = run.report["reports"][0];
  CHECK(report["fault"] == "race");
  CHECK(report["first"]["operation"] == "Stream::fill");
  CHECK(report["first"]["access"] == "writes");
  CHECK(report["second"]["operation"] == "Stream::copy");
  CHECK(report["second"]["access"] == "reads");
  CHECK(report["first"]["bytes"] == 4096 * sizeof(float));
  CHECK(report["memory"]["bytes"] == 4096 * sizeof(float));
  CHECK(report["remedy"].get<std::string>().find("wait for") != std::string::npos);
  for (const char* const stack : {"first", "second"}) {
    CAPTURE(report[stack]["stack"].dump());
    CHECK(report[stack]["stack"].size() >= 2);
    CHECK(report[stack]["stack"].dump().find("weir_tool_programs") + report[stack]["stack"].dump().find("programs.cpp") !=
          2 * std::string::npos);
  }
  CHECK(run.outcome.complains("two operations touch the same memory"));
  CHECK(run.outcome.complains("      #0 "));
  CHECK_FALSE(run_race("wrong_branches_of_a_graph").outcome.complains("include/weir/stream.hpp"));  // nor the C++ library's
  CHECK(run.outcome.complains("remedy: between the two, let"));
  CHECK(run_race("wrong_read_before_it_is_there").report["reports"][0]["remedy"].get<std::string>().find("synchronize()") !=
        std::string::npos);
  CHECK(run_race("wrong_event_recorded_early").report["reports"][0]["note"].get<std::string>().find("too early") !=
        std::string::npos);
  for (const char* const program : {"wrong_branches_of_a_graph", "wrong_branches_that_wait_first"}) {
    const std::string remedy = run_race(program).report["reports"][0]["remedy"];  // no wait of the host's mends a graph
    CHECK(remedy.find("second.wait(first)") != std::string::npos);
  }
  CHECK(report["note"] == "");
  CHECK(run_race("wrong_used_after_the_free").report["reports"][0]["fault"] == "use_after_free");
}

#ifdef WEIR_TEST_BRIDGE
TEST_CASE("race: a graph is known whose capture other code began") {
  const Outcome outcome =
      weir::test::run_program("race_of_a_graph_that_other_code_began", weir::test::bridge({{"WEIR_TOOLS", "race"}}));
  CHECK(outcome.complains("Stream::fill"));
  CHECK(outcome.status != 0);
}
#endif

TEST_CASE("race: what is forgotten is told" * doctest::skip(std::getenv("WEIR_TEST_BACKEND") != nullptr)) {
  const Run run = run_race("many_pieces");
  CHECK(run.outcome.status == 0);
  CHECK(run.outcome.complains("more than 4096 accesses to the 24000 bytes at"));
  CHECK(run.outcome.complains("a race may have been missed"));
  CHECK(run.report["limits"].size() == 1);
  CHECK(run_race("many_waits").outcome.complains("more than 1024 waits for the value at"));
  const Run waits = run_race("many_pieces_and_waits");
  CHECK(waits.outcome.errors == "weir race: 6010 operations, no race\n");
  CHECK(waits.report["limits"].empty());
}

TEST_CASE("race: streams that all race with each other cost no walk over all streams for each pair" *
          doctest::skip(std::getenv("WEIR_TEST_BACKEND") != nullptr)) {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(run_race("many_streams_on_one_buffer").report["reports"].size() == 1);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));  // of 0.5, on an idle machine
}

TEST_CASE("race: suppressions, the exit status, and what is no option") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/suppressions";
  std::ofstream(file) << "# a pattern for each line\n*weir_tool_programs*\n*programs.cpp:*\n";
  const Run suppressed = run_race("wrong_halves", ",suppressions=" + file);
  CHECK(suppressed.outcome.status == 0);
  CHECK(suppressed.report["suppressed"] == 1);
  CHECK(suppressed.report["reports"].empty());
  CHECK(run_race("wrong_halves", ",status=0").outcome.status == 0);
  CHECK(run_race("wrong_halves", ",status=7").outcome.status == 7);
  const Run refused = run_race("right_halves", ",colour=red");
  CHECK(refused.outcome.status == 1);
  CHECK(refused.outcome.complains("'colour=red' is not json=FILE"));
  CHECK(run_race("right_halves", ",suppressions=" + folder.path()).outcome.complains("' cannot be read"));
}

TEST_CASE("race: streams, memory, events and host functions have the names that the program gave" *
          doctest::skip(std::getenv("WEIR_TEST_BACKEND") != nullptr)) {
  const Run run = run_race("named_objects");
  CAPTURE(run.outcome.errors);
  REQUIRE(run.report["reports"].size() == 2);
  CHECK(run.outcome.complains("on host:0 stream 'producer' 0x"));
  CHECK(run.outcome.complains("let host:0 stream 'consumer' 0x"));
  CHECK(run.outcome.complains("memory: byte 0 of 16384 of 'weights', of Device::allocate"));
  CHECK(run.outcome.complains("the event 'ready' was recorded, or the wait was enqueued, too early"));
  CHECK(run.outcome.complains("(in its host function 'reduce')"));
  CHECK(run.report["reports"][0]["memory"]["name"] == "weights");
  const Run gone = run_race("names_that_are_gone");
  CHECK(gone.report["reports"].size() == 1);
  CHECK_FALSE(gone.outcome.complains("'gone'"));
}

TEST_CASE("race: however a program ends, its reports are in the file") {
  const struct {
    const char* program;
    int status;  // 128 + the signal
  } cases[] = {{"ends_by_underscore_exit", 0},
               {"ends_by_quick_exit", 66},
               {"ends_by_abort", 128 + SIGABRT},
               {"ends_by_an_exception", 128 + SIGABRT}};
  for (const auto& [program, status] : cases) {
    CAPTURE(std::string(program));
    const Run run = run_race(program);
    CHECK(run.outcome.status == status);
    REQUIRE(run.report["reports"].size() == 1);
    CHECK(run.report["suppressed"] == 0);
    CHECK(run.report["reports"][0]["first"]["operation"] == "Stream::fill");
    CHECK(run.report.dump().find("\"_Z") == std::string::npos);
  }
}

TEST_CASE("race: of a pipe the file is whole at the end, and of one file that two processes write, each has its own") {
  const TemporaryFolder folder;
  const std::string pipe = folder.path() + "/pipe", file = folder.path() + "/file";
  const Outcome piped =
      weir::test::run("/bin/sh", {"-c", std::string(WEIR_TEST_PROGRAMS) + " wrong_halves | cat"},
                      {{"WEIR_BACKEND", "host"}, {"WEIR_TOOLS", "race"}, {"WEIR_RACE", "json=/dev/stdout"}});
  CHECK(json::parse(piped.output)["reports"].size() == 1);
  const Outcome both = weir::test::run_programs({"wrong_halves", "has_a_worker_that_races"},
                                                {{"WEIR_TOOLS", "race"}, {"WEIR_RACE", "json=" + file}});
  CHECK(both.complains("weir race: another process writes '" + file + "'"));
  int reports = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
    std::ifstream in(each.path());
    reports += static_cast<int>(json::parse(in)["reports"].size());
  }
  CHECK(reports == 2);
}

TEST_CASE("race: weir run ends with the status for races, whichever process has told of one") {
  const auto status_of = [](const std::string& program, const std::string& options) {
    const Outcome outcome = weir::test::run(WEIR_TEST_COMMAND, {"run", "--tools=race", "--", WEIR_TEST_PROGRAMS, program},
                                            {{"WEIR_BACKEND", "host"}, {"WEIR_RACE", options}});
    CAPTURE(outcome.errors);
    CHECK(outcome.complains("weir run: ") == (outcome.status == 66 || outcome.status == 7));
    return outcome.status;
  };
  CHECK(status_of("ends_by_underscore_exit", "") == 66);
  CHECK(status_of("has_a_worker_that_races", "") == 66);
  CHECK(status_of("has_a_worker_that_races", "status=7") == 7);
  CHECK(status_of("has_a_worker_that_races", "status=0") == 0);
  CHECK(status_of("ends_by_abort", "") == 128 + SIGABRT);
  CHECK(status_of("right_halves", "") == 0);
}

TEST_CASE("race: a suppression may name the kernel as the report does") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/suppressions";
  for (const char* const pattern : {"scale", "kernel 'sc*'"}) {
    CAPTURE(std::string(pattern));
    std::ofstream(file) << pattern << '\n';
    const Run run = run_race("wrong_two_kernels", ",suppressions=" + file);
    CHECK(run.outcome.status == 0);
    CHECK(run.report["suppressed"] == 1);
  }
  std::ofstream(file) << "scal\n";
  CHECK(run_race("wrong_two_kernels", ",suppressions=" + file).outcome.status == 66);
}

TEST_CASE("race: the file's name can have the process's number") {
  const TemporaryFolder folder;
  const Outcome outcome =
      weir::test::run_program("right_halves", {{"WEIR_TOOLS", "race"}, {"WEIR_RACE", "json=" + folder.path() + "/%p.json"}});
  CHECK(outcome.status == 0);
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) files.push_back(file.path().stem());
  REQUIRE(files.size() == 1);
  CHECK(files[0].find_first_not_of("0123456789") == std::string::npos);
}

TEST_CASE("race, timeline: threads, streams and graphs that come and go take no memory for good") {
  const struct {
    const char *tool, *program;
    long most_kib;
  } cases[] = {{"race", "many_threads", 2048},
               {"race", "many_graphs", 2048},
               {"record", "many_graphs", 6144},
               {"timeline", "many_graphs", 2048},
               {"timeline", "many_threads", 6144}};
  const TemporaryFolder folder;
  for (const auto& [tool, program, most_kib] : cases) {
    CAPTURE(std::string(tool));
    CAPTURE(std::string(program));
    const Outcome outcome = weir::test::run_program(program, {{"WEIR_TOOLS", tool},
                                                              {"WEIR_TIMELINE", folder.path() + "/trace"},
                                                              {"WEIR_RECORD_FILE", folder.path() + "/recording"}});
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 0);
    const std::size_t at = outcome.output.find("grew by ");
    REQUIRE(at != std::string::npos);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose own memory grows
    CHECK(std::stol(outcome.output.substr(at + 8)) < most_kib);
#endif
  }
}

TEST_CASE("race: a good program gets one line, and one that does not use Weir is no success") {
  const Outcome good = run_race("right_write_then_read").outcome;
  CHECK(good.status == 0);
  CHECK(good.errors.starts_with("weir race: "));
  CHECK(good.complains(" operations, no race\n"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"race", "--"}, {"race", "--witness", "--"}, {"run", "--tools=race", "--"}}) {
    std::vector<std::string> words = command;
    words.emplace_back("/bin/true");
    const Outcome nothing = weir::test::run(WEIR_TEST_WEIR, words);
    CHECK(nothing.status == 3);
    CHECK(nothing.complains("the program did not use Weir, so the tool race checked nothing"));
  }
}

TEST_CASE("race: a report that cannot be written changes the exit status") {
  const Outcome outcome =
      weir::test::run_program("right_write_then_read", {{"WEIR_TOOLS", "race"}, {"WEIR_RACE", "json=/dev/full"}});
  CHECK(outcome.status == 3);
}

TEST_CASE("race: control characters of names do not reach the terminal") {
  const Outcome outcome = run_race("named_with_control_characters").outcome;
  CHECK(outcome.status == 66);
  CHECK(outcome.complains("'a\\x0aweir race: \\x1b[31m'"));
  CHECK_FALSE(outcome.complains("\x1b"));
}

TEST_CASE("race: the remedy of two kernels names touches, and stacks have no functions of Weir's") {
  const Outcome outcome = run_race("wrong_two_kernels").outcome;
  CHECK(outcome.complains("if the kernels use different parts of the memory, declare them: accesses::touches"));
  const Outcome body = run_race("wrong_the_body_of_a_condition").outcome;
  CHECK(body.status == 66);
  CHECK_FALSE(body.complains("weir::Stream::capture"));
  CHECK_FALSE(body.complains("libweir"));
}

TEST_CASE("race: its variable without the tool is noticed") {
  const Outcome outcome = weir::test::run_program("right_write_then_read", {{"WEIR_RACE", "json=x.json"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.complains("WEIR_RACE is set but has no effect without WEIR_TOOLS=race"));
}
