// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <future>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"

// Tests the conformance program as the author of a backend uses it.

using nlohmann::json;
using weir::test::Environment;
using weir::test::Outcome;
using weir::test::TemporaryFolder;

namespace {

Outcome conformance(const std::vector<std::string>& arguments, Environment environment = {}) {
  environment.try_emplace("WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS);
  environment.try_emplace("WEIR_DISABLE_FEATURES", "host_functions");
  return weir::test::run(WEIR_TEST_CONFORMANCE, arguments, environment);
}

std::string content(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string memory_case = "S13 device: tells its memory";

json find_case(const json& report, const std::string& name) {
  for (const json& c : report["cases"]) {
    if (c["name"] == name) return c;
  }
  return {};
}

}  // namespace

TEST_CASE("conformance: a value stands behind '=' or is the next argument") {
  const Outcome joined = conformance({"--backend=immediate", "--device=1", "--test-case=S13 device: tells*"});
  const Outcome apart = conformance({"--backend", "immediate", "--device", "1", "--test-case=S13 device: tells*"});
  for (const Outcome& outcome : {joined, apart}) {
    CHECK(outcome.status == 0);
    CHECK_SAYS(outcome, "conformance of immediate:1");
    CHECK_SAYS(outcome, "1 passed, 0 failed, 0 skipped");
  }
}

TEST_CASE("conformance: what does not parse ends with 2 and says what is wrong") {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::vector<std::string>& arguments, std::string_view text,
                           const Environment& environment = {}) {
    const Outcome outcome = conformance(arguments, environment);
    INFO(outcome.output, outcome.errors);
    CHECK(outcome.status == 2);
    CHECK(outcome.complains(text));
  };
  refuses({"--bogus"}, "unknown option '--bogus'");
  refuses({"bogus"}, "unknown option 'bogus'");
  refuses({"--device"}, "--device takes a value");
  refuses({"--device="}, "--device takes a value");
  refuses({"--backend", "--list"}, "--backend takes a value");
  refuses({"--device", "x"}, "--device takes a whole number");
  refuses({"--timeout=0"}, "--timeout takes a whole number from 1");
  refuses({"--known-failures=" + folder.path()}, "cannot read the list of known failures");
  refuses({"--known-failures=" + folder.path() + "/nosuch"}, "cannot read the list of known failures");
  refuses({"--junit=" + folder.path()}, "cannot write to");
  refuses({"--json=" + folder.path() + "/no/such"}, "cannot write to");
  refuses({"--backend=immediate"}, "WEIR_DEVICE='x'", {{"WEIR_DEVICE", "x"}});
}

TEST_CASE("conformance: a filter that fits no case is a failure, and nothing else is said") {
  const Outcome outcome = conformance({"--backend=immediate", "--test-case=nosuch"});
  CHECK(outcome.status == 1);
  CHECK(outcome.output == "FAILED: no case matches the filters\n");
  CHECK(conformance({"--backend=immediate", "--first=100000"}).status == 1);
}

TEST_CASE("conformance: a list of known failures that is empty is none") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/list").close();
  CHECK(conformance({"--backend=immediate", "--test-case=S13*", "--known-failures=" + folder.path() + "/list"}).status == 0);
}

TEST_CASE("conformance: a backend that is not there is a skip, or a failure where it is required, in the reports, too") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/report";
  const Outcome skipped = conformance({"--backend=nosuch", "--json", file});
  CHECK(skipped.status == 77);
  CHECK_SAYS(skipped, "skipped: ");
  CHECK(json::parse(content(file))["usable"] == false);
  const Outcome failed = conformance({"--require=nosuch", "--junit", file});
  CHECK(failed.status == 1);
  CHECK_SAYS(failed, "required and not usable: ");
  CHECK(content(file).find("<failure message=") != std::string::npos);
}

TEST_CASE("conformance: reports for programs say what the summary says") {
  const TemporaryFolder folder;
  const std::string junit_file = folder.path() + "/junit.xml", json_file = folder.path() + "/report.json";
  std::ofstream(folder.path() + "/list") << "immediate * S13 device: tells its memory\n";
  const Outcome outcome = conformance({"--backend=immediate", "--test-suite=memory", "--junit=" + junit_file,
                                       "--json=" + json_file, "--known-failures=" + folder.path() + "/list"});
  CHECK(outcome.status == 1);  // it passes, and was expected to fail
  const json report = json::parse(content(json_file));
  CHECK_SAYS(outcome, std::to_string(report["passed"].get<int>()) + " passed, 1 failed, " +
                          std::to_string(report["skipped"].get<int>()) + " skipped");
  CHECK(report["backend"] == "immediate");
  CHECK(report["failed"] == 1);
  CHECK(report["cases"].size() ==
        report["passed"].get<std::size_t>() + report["failed"].get<std::size_t>() + report["skipped"].get<std::size_t>());
  const json memory = find_case(report, memory_case);
  CHECK(memory["outcome"] == "failed");
  CHECK(memory["rows"] == json::array({13}));
  CHECK(memory["failures"][0].get<std::string>().find("strike it off") != std::string::npos);
  const std::string junit = content(junit_file);
  CHECK(weir::test::count("<testcase ", junit) == static_cast<int>(report["cases"].size()));
  CHECK(weir::test::count("<failure ", junit) == 1);
  CHECK(weir::test::count("<skipped ", junit) == report["skipped"]);
  CHECK(junit.find("classname=\"memory\" name=\"" + memory_case + "\"") != std::string::npos);
}

TEST_CASE("conformance: a case that hangs is a failure, and the rest runs on") {
  const Outcome good = conformance({"--backend=faulty", "--test-suite=memory"});
  CHECK(good.status == 0);
  const TemporaryFolder folder;
  const auto report_of = [&](int run) { return folder.path() + "/report-" + std::to_string(run); };
  // Long enough for a case that does not hang, on a machine with much else to do; side by side, since all it takes is time.
  std::vector<std::future<Outcome>> runs;
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{}, {"--order-by=rand"}, {"--order-by=rand", "--rand-seed=3"}}) {
    std::vector<std::string> arguments = {"--backend=faulty", "--test-suite=memory", "--timeout=20",
                                          "--json=" + report_of(static_cast<int>(runs.size()))};
    arguments.insert(arguments.end(), order.begin(), order.end());
    runs.push_back(std::async(std::launch::async, conformance, std::move(arguments),
                              Environment{{"WEIR_TEST_FAULT", "hang"}}));
  }
  for (int run = 0; run < static_cast<int>(runs.size()); ++run) {
    CAPTURE(run);
    const Outcome hangs = runs[static_cast<std::size_t>(run)].get();
    INFO(hangs.output, hangs.errors);
    CHECK(hangs.status == 1);
    CHECK(hangs.says("  FAILED: " + memory_case + "\n    it has not ended within 20 s: it hangs"));
    const json report = json::parse(content(report_of(run)));
    CHECK(report["failed"] == 1);
    // Each case once: as many as without the fault.
    CHECK(good.says(std::to_string(report["passed"].get<int>() + 1) + " passed, 0 failed, " +
                    std::to_string(report["skipped"].get<int>()) + " skipped"));
    CHECK(find_case(report, memory_case)["failures"].back() == "it has not ended within 20 s: it hangs");
  }
}

TEST_CASE("conformance: a case that ends the process is a failure, and the rest runs on") {
  const Outcome good = conformance({"--backend=faulty", "--test-suite=memory"});
  for (const auto& [fault, words] :
       {std::pair{"crash", "it ended the process by signal 6"}, {"exit", "it ended the process with exit status 7"}}) {
    const Outcome outcome = conformance({"--backend=faulty", "--test-suite=memory"}, {{"WEIR_TEST_FAULT", fault}});
    INFO(outcome.output, outcome.errors);
    CHECK(outcome.status == 1);
    CHECK(outcome.says("  FAILED: " + memory_case + "\n    " + words));
    CHECK(outcome.says(" passed, 1 failed, "));
  }
}

TEST_CASE("conformance: a range of cases ends where it was to end, also behind a case that hangs") {
  const Outcome list = conformance({"--backend=faulty", "--test-suite=memory", "--first=1", "--last=3"});
  CHECK_SAYS(list, "3 passed, 0 failed, 0 skipped");
}

TEST_CASE("conformance: host functions that hold up their submitter are told ahead of all, fail one case and hang none") {
  const Outcome outcome = conformance({"--backend=immediate"}, {{"WEIR_DISABLE_FEATURES", "event_timing"}});
  INFO(outcome.output, outcome.errors);
  CHECK(outcome.status == 1);
  CHECK(outcome.output.starts_with("Host functions of immediate hold up the thread that submits them, and must not"));
  CHECK(outcome.says("  FAILED: S28 host function: runs on a thread of the driver's\n"));
  CHECK(outcome.says("skipped (host functions hold up the thread that submits them, and here one waits for that thread): "));
  CHECK(outcome.says(" passed, 1 failed, "));
}

TEST_CASE("conformance: in one process, for a debugger, with the same outcome") {
  const Outcome outcome = conformance({"--backend=immediate", "--test-suite=memory", "--one-process"});
  CHECK(outcome.status == 0);
  const Outcome crashes =
      conformance({"--backend=faulty", "--test-suite=memory", "--one-process"}, {{"WEIR_TEST_FAULT", "exit"}});
  CHECK(crashes.status == 7);
}
