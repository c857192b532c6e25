// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run_program.hpp"

// Tests `weir race --witness`, and the schedules with which it runs a program again.

namespace {

using nlohmann::json;
using weir::test::Outcome;
using weir::test::TemporaryFolder;

struct Witness {
  Outcome outcome;
  json verdicts;

  /// "shown", "same" or "untried", if there is one race.
  std::string word() const { return verdicts.size() == 1 ? verdicts[0]["verdict"].get<std::string>() : ""; }
  bool tells(const std::string& text) const {
    return verdicts.size() == 1 && verdicts[0]["what"].get<std::string>().find(text) != std::string::npos;
  }
};

Witness find_witnesses(const std::string& program, std::vector<std::string> options = {},
                       weir::test::Environment environment = {}) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/verdicts";
  options.insert(options.begin(), {"race", "--witness", "--json=" + file});
  options.insert(options.end(), {"--", WEIR_TEST_PROGRAMS, program});
  Witness result{weir::test::run(WEIR_TEST_WEIR, options, environment), {}};
  std::ifstream in(file);
  if (in) result.verdicts = json::parse(in);
  return result;
}

Outcome run_scheduled(const std::string& program, const std::string& schedule, const std::string& threads = "2") {
  return weir::test::run_program(program, {{"WEIR_SCHEDULE", schedule}, {"WEIR_HOST_THREADS", threads}});
}

}  // namespace

TEST_CASE("witness: what differs between the two orders of a race is shown, with the schedule that repeats it") {
  const Witness status = find_witnesses("wrong_shows_a_late_reader");
  CHECK(status.word() == "shown");
  CHECK(status.tells("its exit status is 1, if Stream::fill at "));
  CHECK(status.tells("comes first; otherwise its exit status is 0"));
  CHECK(status.outcome.status == 1);
  CHECK(status.outcome.complains("weir race: 1 race: 1 shown, 0 the same in both orders, 0 not shown"));
  REQUIRE_FALSE(status.verdicts.empty());
  const std::string schedule = status.verdicts[0]["schedule"];
  CHECK(status.outcome.complains("WEIR_BACKEND=host WEIR_SCHEDULE=" + schedule + " " WEIR_TEST_PROGRAMS));
  CHECK(run_scheduled("wrong_shows_a_late_reader", schedule).status == 1);

  CHECK(find_witnesses("prints_what_it_read").tells("the program's output differs: line 2 is \"1\" if Stream::fill"));
  CHECK(find_witnesses("crashes_if_it_read_early").tells("crash: signal 6 ends it"));
  CHECK(find_witnesses("loses_a_signal", {"--timeout=3"}).tells("deadlock: "));
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/output";
  CHECK(find_witnesses("writes_what_it_read", {"--output-file", file}, {{"WEIR_TEST_FILE", file}})
            .tells("the file '" + file + "' differs"));
  for (const char* const program : {"wrong_write_then_read", "wrong_branches_of_a_graph", "wrong_freed_while_another_reads"})
    CHECK(find_witnesses(program).tells("shown: the memory after the two differs; the program's output is the same"));
}

TEST_CASE("witness: a node of a graph, and an allocation, are held back as other operations are") {
  for (const char* const program :
       {"wrong_shows_a_late_branch", "wrong_an_updated_graph", "wrong_a_node_that_is_changed", "wrong_a_graph_by_hand"}) {
    CAPTURE(program);
    CHECK(find_witnesses(program).word() == "shown");
  }
}

TEST_CASE("witness: a race is called benign only if output and memory are the same in both orders") {
  for (const char* const program : {"wrong_columns", "wrong_streams_that_end", "wrong_declared_halves"}) {
    CAPTURE(program);
    const Witness witness = find_witnesses(program);
    CHECK(witness.word() == "same");
    CHECK(witness.tells("benign in this run: the same exit status and output in both orders, and the same memory"));
    CHECK(witness.outcome.status == 3);
  }
  // What one of the two writes is lost again later, but not before others could read it.
  CHECK(find_witnesses("wrong_a_node_that_is_changed").word() == "shown");
  CHECK(find_witnesses("wrong_read_before_it_is_there").tells("Stream::copy changes memory that the host may read"));
  CHECK(find_witnesses("wrong_in_a_host_function").tells("Stream::copy changes memory that the host may read"));
}

TEST_CASE("witness: what cannot be tried is told") {
  CHECK(find_witnesses("wrong_used_after_the_free").tells("not tried: only one order is possible"));
  CHECK(find_witnesses("wrong_external_library").tells("not tried: a schedule cannot delay one of the two"));
  CHECK(find_witnesses("waits_unseen").tells("the order with Stream::fill first did not occur"));
  const Witness none = find_witnesses("right_write_then_read");
  CHECK(none.outcome.status == 0);
  CHECK(none.verdicts.empty());
  CHECK(none.outcome.complains("weir race: 0 races"));
}

TEST_CASE("witness: nothing is called a deadlock that the schedule itself has caused") {
  const Witness witness = find_witnesses("waits_for_a_third_stream");
  CHECK(witness.word() == "shown");
  CHECK(witness.tells("the program's output differs"));
}

TEST_CASE("witness: an order counts only if it occurred, and a benign race only if memory was compared") {
  for (const auto& [program, reason] :
       {std::pair("fills_twice_and_leaves", "the final memory is unknown, because the program ends by _exit"),
        {"fills_adopted_memory_twice", "memory of other code is not compared"},
        {"keeps_it_in_adopted_memory", "memory of other code is not compared"},
        {"tells_of_a_timeout", "a wait with a deadline timed out"},
        {"has_no_patience", "a wait with a deadline timed out"}}) {
    CAPTURE(std::string(program));
    const Witness witness = find_witnesses(program);
    CAPTURE(witness.outcome.errors);
    CHECK(witness.word() == "untried");
    CHECK(witness.tells(reason));
  }
}

TEST_CASE("witness: variables of modules are compared, whether or not the program asks for them") {
  CHECK(find_witnesses("keeps_it_in_a_variable").word() == "shown");
}

TEST_CASE("witness: the host comes first though another thread of the program keeps it waiting") {
  CHECK(find_witnesses("writes_after_a_pause").word() == "shown");
}

TEST_CASE("witness: a program that fails without a race is told, and its status is kept") {
  const Outcome outcome = weir::test::run(WEIR_TEST_WEIR, {"race", "--witness", "--", "sh", "-c", "exit 5"});
  CHECK(outcome.status == 5);
  CHECK(outcome.complains("no race was found, but the program failed: exit status 5"));
  CHECK(weir::test::run(WEIR_TEST_WEIR, {"race", "--witness", "--", "sh", "-c", "kill -SEGV $$"}).status == 128 + 11);
}

TEST_CASE("witness: output that is never the same is not compared") {
  const Witness witness = find_witnesses("prints_something_else_each_time");
  CHECK(witness.word() == "shown");
  CHECK(witness.tells("the memory after the two differs"));
}

TEST_CASE("witness: a held operation comes behind the other each time, with any number of threads") {
  for (const std::string threads : {"1", "2", "4"}) {
    for (const std::string seed : {"1", "pct:7"}) {
      CAPTURE(threads);
      for (int time = 0; time < 3; ++time) {
        CHECK(run_scheduled("prints_what_it_read", seed + ",hold=2.2,until=3.1", threads).output == "it read\n0\n");
        CHECK(run_scheduled("prints_what_it_read", seed + ",hold=3.1,until=2.2", threads).output == "it read\n1\n");
      }
    }
  }
  CHECK(run_scheduled("right_shows_a_lost_wait", "1,hold=2.5,until=3.2").status == 0);  // an order that is not possible
}

TEST_CASE("schedule: a host function is drawn as other operations are") {
  std::set<int> statuses;
  for (int seed = 1; seed <= 12; ++seed)
    statuses.insert(run_scheduled("is_overtaken_by_a_function", std::to_string(seed)).status);
  CHECK(statuses == std::set{0, 1});
}

TEST_CASE("schedule: memory that nothing has written, and freed memory, hold patterns") {
  CHECK(run_scheduled("prints_unwritten_memory", "1").output == "c1c1 c2c2 cfcf 0101 dddd \n");
}

TEST_CASE("schedule: what is no order is refused") {
  for (const std::string order :
       {",", ",hold=2.1", ",until=2.1", ",hold=2.1,until=2.1", ",hold=2.0,until=host", ",hold=2.1/,until=host",
        ",hold=2.1,until=host,", ",hold=host,until=host", ",notes=/nosuch/file"}) {
    CAPTURE(order);
    CHECK(run_scheduled("right_halves", "1" + order).complains("WEIR_SCHEDULE='1" + order + "': it is not SEED"));
  }
}
