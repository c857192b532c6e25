// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "subprocess.hpp"
#include "weir/feature.hpp"
#include "weir/version.hpp"

// Tests the command `weir`, run like a user runs it.

using nlohmann::json;
using weir::test::Environment;
using weir::test::Outcome;
using weir::test::run;
using weir::test::weir_command;

namespace {

json report(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  std::vector<std::string> all = {"info", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return json::parse(weir_command(all, environment).output);
}

// Of the backend of that name.
json backend(const json& all, const std::string& name) {
  for (const json& b : all["backends"]) {
    if (b["name"] == name) return b;
  }
  return {};
}

}  // namespace

TEST_CASE("command: the report parses and lists the known backends in their order") {
  const json all = report({});
  CHECK(all["version"] == weir::version());
  CHECK(all["interface_revision"] == weir::interface_revision);
  CHECK(all["library"] == WEIR_TEST_LIBRARY);
  REQUIRE(all["backends"].size() == 3);
  CHECK(all["backends"][0]["name"] == "cuda");
  CHECK(all["backends"][1]["name"] == "hip");
  CHECK(all["backends"][2]["name"] == "host");
  for (const json& b : all["backends"]) {
    CAPTURE(b.dump());
    CHECK_FALSE(b["attempts"].empty());
    CHECK(b["reason"].get<std::string>().empty() == (b["state"] == "usable"));
    CHECK(b["devices"].empty() == (b["state"] != "usable"));
  }
}

TEST_CASE("command: a usable backend with its devices, and every feature with a reason for its absence") {
  const json all = report({"--backend", "immediate"});
  REQUIRE(all["backends"].size() == 1);
  CHECK_FALSE(all.contains("default"));
  const json b = all["backends"][0];
  CHECK(b["state"] == "usable");
  CHECK(b["plugin"]["path"] == WEIR_TEST_PLUGINS "/libweir_immediate.so");
  CHECK(b["plugin"]["version"] == "1.0");
  REQUIRE(b["devices"].size() == 2);
  CHECK(b["devices"][1]["name"] == "immediate:1");
  CHECK(b["devices"][1]["properties"]["name"] == "the calling thread");
  const json& features = b["devices"][0]["features"];
  CHECK(features.size() == weir::feature_count);
  for (const auto& feature : features.items()) {
    const json& state = feature.value();
    CAPTURE(feature.key());
    CHECK(weir::parse_feature(feature.key()).has_value());
    CHECK(state["reason"].get<std::string>().empty() == (state["support"] == "native"));
    CHECK_FALSE(state["description"].get<std::string>().empty());
  }
  CHECK(features["host_functions"]["support"] == "native");
  CHECK(features["graph_capture"]["reason"] == "work is done at once and cannot be recorded");
  CHECK(weir_command({"info", "--backend", "immediate"}).status == 0);
}

TEST_CASE("command: a broken backend is part of the listing and does not end it") {
  const Environment environment = {{"WEIR_TEST_FACTORY", "exception"}, {"WEIR_BACKEND", "misfit,immediate"}};
  const Outcome outcome = weir_command({"info", "-v"}, environment);
  CHECK(outcome.status == 0);
  CHECK(outcome.says("driver failed"));
  CHECK(outcome.says("the factory tripped"));
  CHECK(outcome.says("libmisfit.so.1: cannot open shared object file"));
  CHECK(outcome.says("immediate   usable"));
  CHECK(outcome.says("default     immediate:0"));

  // The misfit writes to standard output, which is not JSON: what is asked here writes nothing.
  const json all = report({"--backend", "text", "--backend", "immediate", "--backend", "nosuch"});
  CHECK(backend(all, "text")["state"] == "plugin_incompatible");
  CHECK(backend(all, "text")["attempts"][0]["path"] == WEIR_TEST_PLUGINS "/libweir_text.so");
  CHECK(backend(all, "immediate")["state"] == "usable");
  CHECK(backend(all, "nosuch")["state"] == "plugin_not_found");
  CHECK(backend(all, "nosuch")["reason"].get<std::string>().find("cuda, hip, host") != std::string::npos);
}

TEST_CASE("command: info is short, and with --verbose has every property and reason") {
  const Environment environment = {{"WEIR_BACKEND", "immediate"}};
  const Outcome brief = weir_command({"info"}, environment), all = weir_command({"info", "--verbose"}, environment);
  CHECK(brief.status == 0);
  CHECK(brief.count("\n") < 60);
  CHECK(brief.says("  immediate:1  the calling thread"));
  CHECK(brief.says("  absent    "));
  CHECK(brief.says("graph_capture"));
  CHECK_FALSE(brief.says("work is done at once and cannot be recorded"));
  CHECK(brief.says("; weir doctor: what to do\n"));
  CHECK(all.says("work is done at once and cannot be recorded"));
  CHECK(all.count("\n") > 2 * brief.count("\n"));
}

TEST_CASE("command: the exit status tells whether what was asked for is usable") {
  CHECK(weir_command({"info", "--backend", "immediate"}).status == 0);
  CHECK(weir_command({"info", "--backend", "text"}).status == 1);
  CHECK(weir_command({"info", "--backend", "immediate", "--backend", "text"}).status == 1);
  CHECK(weir_command({"info"}, {{"WEIR_BACKEND", "immediate"}}).status == 0);

  const Outcome none = weir_command({"info"}, {{"WEIR_BACKEND", "nosuch"}});
  CHECK(none.status == 1);
  CHECK(none.says("default     none: "));
  CHECK(none.says("\ncuda "));  // the listing goes on
  CHECK(report({}, {{"WEIR_BACKEND", "nosuch"}})["default"]["code"] == "backend_unknown");
}

TEST_CASE("command: arguments that do not parse are an error on standard error") {
  const Outcome environment = weir_command({"info", "--json"}, {{"WEIR_BACKEND", "cuda,,host"}});
  CHECK(environment.status == 2);
  CHECK(environment.output.empty());
  CHECK(environment.complains("WEIR_BACKEND='cuda,,host': element 2 is empty"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"inof"}, {"info", "--no-such-option"}, {"info", "--backend"}, {"info", "cuda"}}) {
    const Outcome outcome = weir_command(arguments);
    CHECK(outcome.status == 2);
    CHECK_FALSE(outcome.errors.empty());
  }
}

TEST_CASE("command: an option with an empty value is an error, as the variable is") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"info", "--backend", ""},
                                                {"run", "--backend", "", "--", "/bin/true"},
                                                {"run", "--tools", "", "--", "/bin/true"},
                                                {"timeline", "-o", "", "--", "/bin/true"},
                                                {"shake", "--backend", "", "--", "/bin/true"}}) {
    CAPTURE(words[0]);
    const Outcome outcome = weir_command(words);
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(outcome.complains("it is empty; omit the option for the default"), outcome.errors);
  }
}

TEST_CASE("command: for an unknown command or option, the error suggests a similar one") {
  const auto says = [](const std::vector<std::string>& arguments, std::string_view text) {
    const Outcome outcome = weir_command(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 2);
    CHECK(outcome.complains(text));
  };
  says({"inf"}, "unknown command 'inf'; did you mean 'info'?");
  says({"nosuch"}, "unknown command 'nosuch'\n");
  says({"--verison"}, "unknown option '--verison'; did you mean '--version'?");
  says({"info", "--jsn"}, "unknown option '--jsn'; did you mean '--json'?");
  says({},
       "a command is missing; the commands are info, doctor, kernels, cache, new, c++, run, timeline, record, replay, "
       "shake, race, stuck, flight");
  says({"kernels"}, "a command is missing; the commands are inspect");
  says({"kernels", "inspct"}, "unknown command 'inspct'; did you mean 'inspect'?");
  says({"info", "--bakcend=host"}, "unknown option '--bakcend'; did you mean '--backend'?");
}

TEST_CASE("command: run sets variables for another program, and becomes it") {
  const Outcome set = weir_command({"run", "--backend=hip,host", "--tools=race", "--", "/bin/sh", "-c",
                                    "echo $WEIR_BACKEND $WEIR_TOOLS \"$1\"; exit 42", "sh", "--help"});
  CHECK(set.status == 42);
  CHECK(set.output == "hip,host race --help\n");
  const Outcome kept =
      weir_command({"run", "--", "sh", "-c", "echo $WEIR_BACKEND-$WEIR_DEVICE"}, {{"WEIR_BACKEND", "immediate"}});
  CHECK(kept.status == 0);
  CHECK(kept.output == "immediate-\n");
  const Outcome absent = weir_command({"run", "--backend=host", "--", "no-such-program-anywhere"});
  CHECK(absent.status == 127);
  CHECK(absent.complains("cannot run 'no-such-program-anywhere'"));
  CHECK(weir_command({"run", "--", "/"}).status == 126);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"run"}, {"run", "--"}, {"run", "sh"}, {"info", "--", "sh"}}) {
    CHECK(weir_command(arguments).status == 2);
  }
  CHECK(weir_command({"run", "--bakcend=host", "--", "sh"}).complains("did you mean '--backend'?"));
  CHECK(weir_command({"run"}).complains("a program is missing; write: weir run [OPTION]… -- PROGRAM"));
  CHECK(weir_command({"run", "--backend", "host", "sh", "x"})
            .complains("'sh' must come after --; write: weir run [OPTION]… -- sh [ARGUMENT]…"));
}

TEST_CASE("command: timeline runs a program with the tool, and the trace goes where it is said, or its exit status tells") {
  const weir::test::TemporaryFolder folder;
  const std::string file = folder.path() + "/a.pftrace", none = folder.path() + "/none";
  const auto trace = [](const std::string& name, const std::string& script) {
    return weir_command({"timeline", "--backend=host", "-o", name, "--", "/bin/sh", "-c", script});
  };
  const Outcome set = trace(file, "echo $WEIR_TOOLS $WEIR_BACKEND $WEIR_TIMELINE; echo trace > $WEIR_TIMELINE; exit 3");
  CHECK(set.status == 3);
  CHECK(set.output == "timeline host " + file + "\n");
  CHECK(set.errors == "");
  CHECK(trace(file, "echo more >> $WEIR_TIMELINE").status == 0);
  CHECK(trace(folder.path() + "/%p", "exit 0").errors == "");  // the number is not known here
  CHECK(trace(file, "kill -SEGV $$").status == 128 + 11);
  // A signal that is meant for the program reaches it.
  const std::string waits =
      "echo > $WEIR_TIMELINE; trap 'kill $!; exit 7' TERM; kill -TERM $PPID; sleep 600 > /dev/null 2>&1 & wait";
  CHECK(trace(file, waits).status == 7);
  CHECK(weir_command({"timeline", "--", "no-such-program-anywhere"}).status == 127);
  CHECK(weir_command({"timeline"}).complains("a program is missing; write: weir timeline [OPTION]… -- PROGRAM"));
  for (const std::string& name : {none, file}) {  // that there is not, and of another run
    const Outcome nothing = trace(name, "exit 0");
    CHECK(nothing.status == 3);
    CHECK(nothing.complains("weir timeline: '" + name + "' was not written: the program did not use Weir"));
  }
  CHECK(trace(file, "exit 5").status == 5);
  const Outcome nowhere = trace("/nosuch/trace", "echo ran");
  CHECK(nowhere.status == 3);
  CHECK(nowhere.output == "");
  CHECK(nowhere.complains("weir timeline: the file '/nosuch/trace' cannot be written: No such file or directory"));
}

TEST_CASE("command: shake runs a program with one schedule after another, and tells which fail") {
  const Outcome some = weir_command({"shake", "--seeds=4", "--first", "6", "--", "/bin/sh", "-c",
                                     "test $WEIR_BACKEND = host && test $WEIR_SCHEDULE != 8"});
  CHECK(some.status == 1);
  CHECK(some.complains("weir shake: 1 of 4 schedules failed: 8\n"));
  CHECK(some.complains("WEIR_SCHEDULE=8 /bin/sh"));
  const Outcome none = weir_command({"shake", "--", "/bin/true"});
  CHECK(none.status == 0);
  CHECK(none.complains("weir shake: 0 of 20 schedules failed\n"));
  CHECK(weir_command({"shake", "--", "no-such-program-anywhere"}).status == 127);
  const Outcome unusable = weir_command({"shake", "--backend=cuda", "--", "/bin/true"}, {{"WEIR_CUDA_DRIVER", "/nosuch"}});
  CHECK(unusable.status == 2);
  CHECK_FALSE(unusable.complains("schedules failed"));
  CHECK(weir_command({"shake", "--first=0", "--", "/bin/true"}).status == 2);
  CHECK(weir_command({"shake", "--seeds=0", "--", "/bin/true"}).status == 2);
  const std::vector<std::string> tell = {"--", "/bin/sh", "-c", "echo $WEIR_SCHEDULE"};
  const auto schedules = [&](std::vector<std::string> options) {
    if (options.empty() || options[0] != "--schedule=both") options.insert(options.begin(), "--schedule=pct");
    options.insert(options.begin(), {"shake", "--seeds=2"});
    options.insert(options.end(), tell.begin(), tell.end());
    return weir_command(options);
  };
  CHECK(schedules({}).output == "pct:1\npct:2\n");
  CHECK(schedules({"--schedule=both"}).output == "1\npct:2\n");
  CHECK(schedules({"--backend=cuda"}).complains("--schedule=pct needs --backend=host"));
  CHECK(weir_command({"shake", "--first=4294967295", "--seeds=3", "--", "/bin/true"}).complains("the last seed must be"));
  CHECK(weir_command({"shake", "--schedule=fair", "--", "/bin/true"}).status == 2);
  CHECK(weir_command({"shake"}).status == 2);
}

TEST_CASE("command: race runs a program with the tool, and what belongs to a witness is refused without it") {
  const Outcome plain = weir_command({"race", "--", "/bin/sh", "-c", "echo $WEIR_TOOLS; exit 5"});
  CHECK(plain.status == 5);
  CHECK(plain.output == "race\n");
  const Outcome none = weir_command({"race", "--witness", "--schedule=pct:3", "--", "/bin/sh", "-c", "echo $WEIR_SCHEDULE"});
  CHECK(none.status == 3);
  CHECK(none.output == "pct:3\n");
  CHECK(none.complains("weir race: the program did not use Weir, so the tool race checked nothing\n"));
  CHECK(weir_command({"race", "--witness", "--", "no-such-program-anywhere"}).status == 127);
  for (const char* const option : {"--schedule=2", "--output-file=x", "--timeout=3", "--json=x"}) {
    CAPTURE(option);
    CHECK(weir_command({"race", option, "--", "/bin/true"}).complains("--witness"));
  }
  CHECK(weir_command({"race"}).status == 2);
}

TEST_CASE("command: shake and timeline learn how a program ends where SIGCHLD is ignored") {
  const auto ignored = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"become_ignoring_children", WEIR_TEST_COMMAND});
    arguments.insert(arguments.end(), {"--", "/bin/sh", "-c", "exit 9"});
    return run(WEIR_TEST_CHILD, arguments, {});
  };
  const Outcome shake = ignored({"shake", "--seeds=2"});
  CHECK(shake.status == 1);
  CHECK(shake.complains("weir shake: 2 of 2 schedules failed: 1 pct:2\n"));
  const weir::test::TemporaryFolder folder;
  CHECK(ignored({"timeline", "-o", folder.path() + "/trace"}).status == 9);
}

TEST_CASE("command: shake kills a run that hangs, with all that it has started, says so, and goes on") {
  const weir::test::TemporaryFolder folder;
  // All of them: one that ends by itself may take longer on a busy machine.
  const std::string program = "sleep 600 & echo $! > " + folder.path() + "/$WEIR_SCHEDULE; wait";
  const Outcome all = weir_command({"shake", "--seeds=2", "--timeout=1", "--", "/bin/sh", "-c", program});
  CHECK(all.status == 1);
  CHECK(all.complains("weir shake: schedule 1 hung: the run was killed after 1 s\n"));
  CHECK(all.complains("weir shake: schedule pct:2 hung: the run was killed after 1 s\n"));
  CHECK(all.complains("weir shake: 2 of 2 schedules failed: 1 (hung) pct:2 (hung)\n"));
  CHECK(all.complains("WEIR_SCHEDULE=1 /bin/sh"));
  CHECK(all.complains(" hangs again\n"));
  // The run's own child is gone, or about to go.
  const std::string is_gone = "for i in $(seq 1000); do grep -q '^State:[^Z]*$' /proc/$(cat " + folder.path() +
                              "/pct:2)/status 2> /dev/null || exit 0; sleep 0.1; done; exit 1";
  CHECK(run("/bin/sh", {"-c", is_gone}).status == 0);
  CHECK(weir_command({"shake", "--seeds=1", "--timeout=0", "--", "/bin/true"}).status == 0);
  CHECK(weir_command({"shake", "--timeout=-1", "--", "/bin/true"}).status == 2);
}

TEST_CASE("command: version and help") {
  const Outcome version = weir_command({"--version"});
  CHECK(version.status == 0);
  const std::string is = "weir " + std::string(weir::version());
  CHECK_MESSAGE((version.output == is + "\n" || version.output.starts_with(is + " (commit ")), version.output);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"}, {"info", "--help"}}) {
    const Outcome help = weir_command(arguments);
    CHECK(help.status == 0);
    CHECK(help.says("Exit status:"));
  }
}

TEST_CASE("command: the environment that was read, and variables that nobody reads") {
  const json all =
      report({}, {{"WEIR_BACKEND", "immediate"}, {"WEIR_BAKCEND", "cuda"}, {"WEIR_SOMETHING_ELSE_ENTIRELY", "1"}});
  CHECK(all["environment"]["WEIR_BACKEND"] == "immediate");
  CHECK(all["environment"]["WEIR_PLUGIN_PATH"] == WEIR_TEST_PLUGINS);
  REQUIRE(all["unknown_variables"].size() == 2);
  CHECK(all["unknown_variables"][0]["name"] == "WEIR_BAKCEND");
  CHECK(all["unknown_variables"][0]["nearest"] == "WEIR_BACKEND");
  CHECK(all["unknown_variables"][1]["nearest"] == "");
  CHECK(weir_command({"info"}, {{"WEIR_BAKCEND", "cuda"}}).says("did you mean WEIR_BACKEND?"));
}

TEST_CASE("command: for people, lines of at most 100 columns, save for words that are longer") {
  const Outcome outcome = weir_command({"info", "--verbose"}, {{"WEIR_BACKEND", "immediate"}});
  std::istringstream lines(outcome.output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (line.size() <= 100) continue;
    CAPTURE(line);
    const std::size_t text = line.find_first_not_of(' ', 12);
    CHECK(line.find(' ', text) == std::string::npos);
  }
  CHECK(count > 50);
  CHECK(outcome.says("features of immediate:0, immediate:1\n"));  // the same table is printed once
  CHECK(outcome.says("native    2 of " + std::to_string(weir::feature_count) + ": "));
}

TEST_CASE("command: an output that cannot be written is not a success") {
  if (!std::ifstream("/dev/full")) {
    MESSAGE("there is no /dev/full: skipped");
    return;
  }
  for (const char* const arguments : {"info --backend immediate", "--version", "info --help"}) {
    CAPTURE(arguments);
    const std::string command = "\"$0\" " + std::string(arguments) + " > /dev/full";
    const Outcome outcome = run("/bin/sh", {"-c", command, WEIR_TEST_COMMAND}, {{"WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS}});
    CHECK(outcome.status == 3);
    CHECK(outcome.complains("writing the output"));
  }
  const Outcome suite = run("/bin/sh", {"-c", "\"$0\" --list > /dev/full", WEIR_TEST_CONFORMANCE});
  CHECK(suite.status == 1);
  CHECK(suite.complains("the output could not be written"));
  const Outcome kernels = run("/bin/sh", {"-c", "\"$0\" --help > /dev/full", WEIR_TEST_KERNEL_TOOL});
  CHECK(kernels.status == 1);
  CHECK(kernels.complains("writing the output"));
}

TEST_CASE("command: a path that is not absolute is flagged, also where nothing has read it yet") {
  for (const char* const name :
       {"WEIR_CUDA_DRIVER", "WEIR_NVRTC", "WEIR_HIP_RUNTIME", "WEIR_HIPRTC", "WEIR_HOST_CXX", "WEIR_CACHE_DIR"}) {
    CAPTURE(name);
    const Environment environment = {{name, "relative"}, {"WEIR_BACKEND", "immediate"}};
    const Outcome outcome = weir_command({"info"}, environment);
    CHECK(outcome.status == 2);
    CHECK(outcome.says(std::string("bad         reading ") + name + "='relative': it is not an absolute path"));
    CHECK(outcome.complains(std::string("weir: bad variable: reading ") + name));
    CHECK(report({}, environment)["bad_variables"][0]["name"] == name);
  }
  CHECK(report({})["bad_variables"].empty());
}

TEST_CASE("command: a default device that does not exist is a bad variable") {
  CHECK(weir_command({"info"}, {{"WEIR_BACKEND", "immediate"}, {"WEIR_DEVICE", "7"}}).status == 2);
}

#if WEIR_TEST_HAS_HOST
TEST_CASE("command: a backend's number that does not parse is a bad variable, and not a driver's failure") {
  for (const auto& [variable, value] : {std::pair{"WEIR_HOST_THREADS", "0"}, {"WEIR_HOST_DEVICES", "65"}}) {
    const char* name = variable;  // Clang before 16 captures no structured bindings
    CAPTURE(name);
    const Outcome outcome = weir_command({"info"}, {{name, value}});
    CHECK(outcome.status == 2);
    CHECK(outcome.says("host        bad variable\n"));
    CHECK(outcome.complains(std::string("weir: bad variable: reading ") + name + "='" + value + "'"));
    CHECK(weir_command({"info", "--backend", "host"}, {{name, value}}).status == 2);
    CHECK(report({}, {{name, value}})["backends"][2]["state"] == "bad_variable");
  }
  for (const char* const size : {"7", "40", "100", ""}) {
    const Outcome outcome = weir_command({"info", "--backend", "host"}, {{"WEIR_HOST_WARP_SIZE", size}});
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(outcome.complains("a warp has 32 or 64 threads here; set it to 32 or 64"), outcome.errors);
  }
}

TEST_CASE("command: the host backend with its devices") {
  const json all = report({"--backend", "host"}, {{"WEIR_HOST_DEVICES", "3"}});
  const json b = backend(all, "host");
  CHECK(b["state"] == "usable");
  REQUIRE(b["devices"].size() == 3);
  CHECK(b["devices"][2]["name"] == "host:2");
  CHECK(b["devices"][0]["features"]["graph_capture"]["support"] != "absent");
  const std::filesystem::path folder = std::filesystem::path(b["plugin"]["path"].get<std::string>()).parent_path();
  for (const int release : {16, 17, 18, 19, 20}) {
    const auto list = b["plugin"]["workgroup"].get<std::vector<int>>();
    const bool is_listed = std::find(list.begin(), list.end(), release) != list.end();
    CHECK(is_listed == std::filesystem::exists(folder / ("weir_workgroup-" + std::to_string(release) + ".so")));
  }
  CHECK_FALSE(b["devices"][0]["properties"]["name"].get<std::string>().empty());
}
#endif
