// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/programs.hpp"
#include "tests/tools/run_program.hpp"

// Tests that `validate` reports the mistake in each wrong program, and reports nothing for each correct one. The tests use
// the default device of WEIR_TEST_BACKEND, or else the host.

namespace {

using weir::test::Environment;
using weir::test::Outcome;
using weir::test::Program;
using weir::test::Suite;

/// With options that refuse the wrong operation, so that a wrong program harms nothing.
Outcome run_validated(const std::vector<std::string>& programs, const std::string& options = "throw") {
  const char* const backend = std::getenv("WEIR_TEST_BACKEND");
  Environment environment = {{"WEIR_TOOLS", "validate"}, {"WEIR_VALIDATE", options}};
  environment["WEIR_BACKEND"] = backend != nullptr ? backend : "host";
  if (environment["WEIR_BACKEND"] == "host") environment["WEIR_HOST_DEVICES"] = "2";
  return weir::test::run(WEIR_TEST_PROGRAMS, programs, environment);
}
Outcome run_validated(const std::string& program, const std::string& options = "throw") {
  return run_validated(std::vector{program}, options);
}

/// Runs the wrong programs of the suite one by one, and those right ones that have the same options at once.
template <class Check>
void for_each_wrong(Suite suite, Check&& check) {
  std::map<std::string, std::vector<std::string>> right;
  int wrong = 0;
  for (const Program& program : weir::test::programs()) {
    if (program.suite != suite) continue;
    CAPTURE(program.name);
    if (program.says != nullptr) {
      check(program);
      ++wrong;
    } else {
      right[program.options].push_back(program.name);
    }
  }
  CHECK(wrong > 0);
  for (const auto& [options, programs] : right) {
    const Outcome outcome = run_validated(programs, options);
    CAPTURE(outcome.errors);
    CHECK(outcome.complains(" operations, no mistake\n"));
    CHECK_FALSE(outcome.complains("refused: "));
    if (!outcome.complains("skipped: ")) CHECK(outcome.status == 0);
  }
}

}  // namespace

TEST_CASE("validate: it tells the mistake in each wrong program, and nothing of the right ones") {
  int wild = 0;
  for_each_wrong(Suite::validate, [&](const Program& program) {
    // What would touch memory that is nobody's is not made, whatever the options.
    const std::string_view says = program.says;
    const bool is_wild = says.find("freed") != says.npos || says.find("after the end") != says.npos ||
                         says.find("the range begins") != says.npos;
    const Outcome outcome =
        run_validated(program.name, is_wild && says.find("byte 0 of 64") == says.npos ? "status=66" : "throw");
    if (outcome.complains("skipped: ")) return;
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 66);
    CHECK(outcome.complains(program.says));
    CHECK(outcome.complains("weir validate: 1 mistake\n"));
    CHECK(outcome.complains("refused: invalid_argument"));  // the call that was not made
    wild += is_wild ? 1 : 0;
  });
  CHECK(wild >= 10);
}

TEST_CASE("validate: it tells a pageable source that changes before the copy runs, which a GPU has copied by then") {
  if (const char* const backend = std::getenv("WEIR_TEST_BACKEND"); backend != nullptr && backend != std::string("host"))
    return;
  for_each_wrong(Suite::pageable, [](const Program& program) {
    const Outcome outcome = run_validated(program.name);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 66);
    CHECK(outcome.complains(program.says));
  });
}

TEST_CASE("validate: on request it tells reads of unwritten memory, and memory that is never freed") {
  std::vector<std::string> all;
  for_each_wrong(Suite::on_request, [&](const Program& program) {
    all.push_back(program.name);
    const Outcome outcome = run_validated(program.name, program.options);
    if (outcome.complains("skipped: ")) return;
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 66);
    CHECK(outcome.complains(program.says));
    CHECK(outcome.complains("weir validate: 1 mistake\n"));
  });
  const Outcome outcome = run_validated(all);
  CHECK(outcome.complains(" operations, no mistake\n"));
}

TEST_CASE("validate: what damages memory is made if the program is to go on") {
  const Outcome outcome = run_validated("wrong_reads_beyond_the_end", "go_on,status=3");
  CAPTURE(outcome.errors);
  CHECK(outcome.complains("2048 bytes after the end of the allocation"));
  CHECK_FALSE(outcome.complains("refused: "));
  CHECK(outcome.status == 3);
}

TEST_CASE("validate: a report names operation, object, cause, remedy, and the places in the program") {
  const Outcome freed = run_validated("wrong_uses_freed_memory");
  CAPTURE(freed.errors);
  CHECK(freed.complains("weir validate: Stream::fill on "));
  CHECK(freed.complains(":0 stream "));
  CHECK(freed.complains("4096 bytes at 0x"));
  CHECK(freed.complains("; keep an owner of it, a Buffer or an AllocationPtr, until its last use is enqueued"));
  CHECK(freed.complains("  memory: 4096 bytes at 0x"));
  CHECK(freed.complains(", of Device::allocate\n"));
  CHECK(freed.complains("  freed:\n"));
  CHECK(freed.complains("validate_programs.cpp:"));
  const Outcome launch = run_validated("wrong_launches_with_a_local_variable");
  CAPTURE(launch.errors);
  CHECK(launch.complains("weir validate: kernel 'set' on "));
  const Outcome graph = run_validated("wrong_launches_a_graph_on_dead_memory");
  CAPTURE(graph.errors);
  CHECK(graph.complains("weir validate: GraphExec::launch on "));
  CHECK(graph.complains("  captured as: Stream::fill\n"));
}

TEST_CASE("validate: what goes beyond memory that another library lends is told, and made") {
  const Outcome outcome = run_validated("wrong_copies_around_adopted_memory", "status=3");
  CAPTURE(outcome.errors);
  CHECK(outcome.complains("the range ends 176 bytes after the end of the allocation"));
  CHECK_FALSE(outcome.complains("refused: "));
  CHECK(outcome.status == 3);
}

TEST_CASE("validate: without throw an operation that harms nothing here is made, and each place is told once") {
  const Outcome outcome = run_validated("wrong_waits_for_a_plain_variable", "status=3");
  CAPTURE(outcome.errors);
  CHECK(outcome.complains("host memory that devices cannot access"));
  CHECK_FALSE(outcome.complains("refused: "));
  CHECK(outcome.status == 3);
  CHECK(run_validated("wrong_waits_for_a_plain_variable", "status=0").status == 0);
}

TEST_CASE("validate: options that do not parse are refused, by the variable's name") {
  for (const char* const options :
       {"status=", "status=256", "status=-1", "throws", "throw,,status=1", "leaks=1", "unwritten,"}) {
    CAPTURE(options);
    const Outcome outcome = run_validated("right_fills_host_memory", options);
    CAPTURE(outcome.errors);
    CHECK(outcome.complains("reading WEIR_VALIDATE='"));
    CHECK(outcome.complains("is not throw, go_on, unwritten, leaks or status=NUMBER"));
  }
}

TEST_CASE("validate: streams and memory have the names that the program gave") {
  const Outcome outcome = weir::test::run_program("named_mistake", {{"WEIR_TOOLS", "validate"}});
  CAPTURE(outcome.errors);
  CHECK(outcome.complains("on host:0 stream 'copies' 0x"));
  CHECK(outcome.complains("memory: 16384 bytes of 'weights' at 0x"));
}
