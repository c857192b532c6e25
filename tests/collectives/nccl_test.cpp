// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"

// Tests how the plugins for NCCL and RCCL open the library and handle its results, with a stand-in for the library on a HIP
// runtime without a GPU. These tests prove nothing about devices.

using weir::test::Environment;
using weir::test::Outcome;

namespace {

Outcome story(const std::vector<std::string>& steps, const std::string& script = {}, Environment environment = {}) {
  environment.try_emplace("WEIR_RCCL", FAKE_RCCL);
  environment.try_emplace("WEIR_HIP_RUNTIME", HIP_RUNTIME);
  environment.try_emplace("LD_LIBRARY_PATH", CPU_CUDA);
  environment.try_emplace("CPU_CUDA_DEVICES", "2");
  environment.try_emplace("WEIR_TEST_DRIVER", script);
  std::vector<std::string> arguments = {"hip"};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  return weir::test::run(STORY, arguments, environment);
}

}  // namespace

TEST_CASE("rccl: communicators of the devices of one process work, and tell the library") {
  const Outcome o = story({"make", "all_reduce", "all_to_all", "barrier", "value", "synchronize", "drop"});
  CHECK_SAYS(o, std::string("made: rccl 2.29.7 (") + FAKE_RCCL + ")");
  CHECK_SAYS(o, "element: 2\n");
  CHECK_SAYS(o, "drop: ok");
  CHECK(o.status == 0);
}

TEST_CASE("rccl: non-blocking communicators, for a timeout, work likewise") {
  const Outcome o = story({"make_short", "all_reduce", "barrier", "value", "synchronize", "drop"});
  CHECK_SAYS(o, "element: 2\n");
  CHECK_SAYS(o, "drop: ok");
}

TEST_CASE("rccl: an exception does not wait for the other ranks, as a clean end would") {
  const std::string end = "fail=CommFinalize:1:2";
  CHECK(story({"make_short", "drop"}, end).complains("could not be ended cleanly"));
  const Outcome o = story({"make_short", "drop_by_exception"}, end);
  CHECK_SAYS(o, "drop_by_exception: ok");
  CHECK_FALSE(o.complains("could not be ended cleanly"));
}

TEST_CASE("rccl: a library that is not there is an error that says what was tried and what would help") {
  const Outcome named = story({"make"}, "", {{"WEIR_RCCL", "/nonexistent/librccl.so.1"}});
  CHECK_SAYS(named,
             "make: driver_not_found | Communicator::from_devices on library rccl: the library could not be opened: "
             "/nonexistent/librccl.so.1");
  CHECK_SAYS(named, "WEIR_RCCL");
  const Outcome relative = story({"make"}, "", {{"WEIR_RCCL", "librccl.so.1"}});
  CHECK_SAYS(relative, "make: invalid_environment");
  CHECK_SAYS(relative, "it is not an absolute path");
}

TEST_CASE("rccl: a library that is too old is refused by the functions that it lacks") {
  const Outcome o = story({"make"}, "", {{"WEIR_RCCL", OLD_RCCL}});
  CHECK_SAYS(o, "make: driver_too_old |");
  CHECK_SAYS(o, "lacks ncclRecv; Weir needs release 2.14 or later");
}

TEST_CASE("rccl: a copy that is loaded already is used, and another one refused") {
  const Outcome used = story({"make", "all_reduce", "value"}, "", {{"LD_PRELOAD", FAKE_RCCL}, {"WEIR_RCCL", FAKE_RCCL}});
  CHECK_SAYS(used, "element: 2\n");
  const Outcome refused = story({"make"}, "", {{"LD_PRELOAD", FAKE_RCCL}, {"WEIR_RCCL", OLD_RCCL}});
  CHECK_SAYS(refused, "make: driver_failed |");
  CHECK_SAYS(refused, "one process cannot use two copies");
}

TEST_CASE("rccl: what the library refuses is an error with its words, and the communicator works on") {
  const Outcome o = story({"make", "all_reduce", "all_reduce", "value"}, "fail=AllReduce:1:4");
  CHECK_SAYS(
      o,
      "all_reduce: backend_failure | Communicator::all_reduce on rccl rank 0 of 2 on hip:0: the library refused the call");
  CHECK_SAYS(o, "[ncclInvalidArgument (4): scripted error: scripted failure of AllReduce]");
  CHECK_SAYS(o, "element: 2\n");
}

TEST_CASE("rccl: an error of the system makes the communicator fail") {
  const Outcome o = story({"make", "all_reduce", "all_reduce", "check"}, "fail=AllReduce:1:2");
  CHECK_SAYS(o,
             "all_reduce: communicator_failed | Communicator::all_reduce on rccl rank 0 of 2 on hip:0: the library reported "
             "an error");
  CHECK_SAYS(o, "ncclSystemError (2)");
  CHECK_SAYS(o, "check: communicator_failed |");
  CHECK(o.count("all_reduce: communicator_failed") == 2);
}

TEST_CASE("rccl: a communicator that cannot be made") {
  CHECK_SAYS(story({"make"}, "fail=CommInitRankConfig:2:3"),
             "make: communicator_failed | Communicator::from_id on rccl 2.29.7");
  CHECK_SAYS(story({"make"}, "fail=GetUniqueId:1:2"), "make: backend_failure | Communicator::create_id");
}

TEST_CASE("rccl: communicators of a making that fails are ended") {
  // Each communicator allocates a little of its own, so the second one's making fails.
  const Outcome memory = story({"make", "make", "all_reduce", "value"}, "", {{"WEIR_FAULTS", "alloc:2=out_of_memory"}});
  CHECK_SAYS(memory, "make: out_of_memory | Device::allocate on hip:1");
  CHECK_SAYS(memory, "element: 2\n");
  CHECK_FALSE(memory.says("were left"));
  for (const char* const script : {"fail=CommInitRankConfig:2:3", "fail=GroupEnd:1:3"}) {
    const Outcome o = story({"make"}, script);
    CHECK_SAYS(o, "make: communicator_failed |");
    CHECK_FALSE(o.says("were left"));
  }
}

TEST_CASE("rccl: an error that comes later shows in check, and by itself where there is a timeout") {
  const Outcome asked = story({"make", "all_reduce", "check", "all_reduce"}, "async=2");
  CHECK_SAYS(asked, "check: communicator_failed |");
  CHECK_SAYS(asked, "ncclRemoteError (6)");
  CHECK_SAYS(asked, "all_reduce: communicator_failed |");
}

TEST_CASE("rccl: a peer that does not come while communicators are made ends in an error after the timeout") {
  CHECK_SAYS(story({"make_alone"}), "make_alone: communicator_failed | Communicator::from_id on rccl 2.29.7");
  CHECK_SAYS(story({"make_alone"}), "not all of the 2 ranks have called this within 300 ms");
}

TEST_CASE("rccl: an operation that waits for a peer for ever ends after the timeout, and the stream goes on") {
  const Outcome eager = story({"make_short", "all_reduce", "synchronize", "value"}, "hang=1");
  CHECK_SAYS(eager,
             "synchronize: communicator_failed | Communicator::check on rccl rank 0 of 2 on hip:0: all_reduce of 1000 "
             "float32 by sum (number 1) has not ended within 300 ms; all ranks have called it; create a new communicator");
  CHECK_SAYS(eager, "element: 1\n");
}

TEST_CASE("rccl: abort ends what waits") {
  const Outcome o = story({"make", "all_reduce", "abort", "synchronize", "value"}, "hang=1");
  CHECK_SAYS(o, "abort: ok");
  CHECK_SAYS(o, "synchronize: communicator_failed |");
  CHECK_SAYS(o, "Communicator::abort was called");
  CHECK_SAYS(o, "element: 1\n");
}

TEST_CASE("rccl: a timeout in the middle of a group waits for the group's end") {
  // The third group is the second all_reduce.
  const Outcome o = story({"make_short", "all_reduce", "all_reduce", "synchronize", "value"}, "hang=1 slow=3 slow_ms=1000");
  CHECK(o.count("all_reduce: ok") == 2);
  CHECK_SAYS(o, "synchronize: communicator_failed |");
  CHECK_SAYS(o, "element: 1\n");
  CHECK(o.status == 0);
}

TEST_CASE("rccl: an abort, also by the death of a peer, does not free a communicator under another thread's call") {
  const Outcome o = story({"make", "abort_beside", "check"}, "slow=2 slow_ms=60");
  CHECK_SAYS(o, "abort_beside: ok\n");
  CHECK_SAYS(o, "check: communicator_failed |");
  CHECK(o.status == 0);
}

TEST_CASE("rccl: check does not wait for another thread's call") {
  const Outcome o = story({"make", "check_beside", "value"}, "slow=2 slow_ms=1500");
  CHECK_SAYS(o, "the check was quick\n");
  CHECK_SAYS(o, "element: 2\n");
}

TEST_CASE("rccl: a communicator is split, also a non-blocking one, and nothing is left") {
  for (const char* const make : {"make", "make_short"}) {
    const Outcome o = story({make, "all_reduce", "synchronize", "split", "all_reduce", "value", "synchronize", "drop"});
    CHECK_SAYS(o, "rccl rank 0 of 1 on hip:1\n");
    CHECK_SAYS(o, "element: 2\n");
    CHECK_SAYS(o, "drop: ok");
    CHECK_FALSE(o.says("were left"));
  }
}

TEST_CASE("rccl: a split that fails") {
  CHECK_SAYS(story({"make", "split"}, "fail=CommSplit:2:4"),
             "split: backend_failure | Communicator::split on rccl rank 1 of 2 on hip:1: the library refused the call");
  const Outcome late = story({"make_short", "split_alone", "check"});
  CHECK_SAYS(late,
             "split_alone: communicator_failed | Communicator::split on rccl rank 0 of 2 on hip:0: rank 1 (hip:1) has not "
             "called split within 300 ms");
  const Outcome old = story({"make", "split", "all_reduce", "value"}, "", {{"WEIR_RCCL", UNSPLIT_RCCL}});
  CHECK_SAYS(old, "split: unsupported | Communicator::split on rccl rank 0 of 2 on hip:0: the library lacks ncclCommSplit");
  CHECK_SAYS(old, "element: 2\n");
}

TEST_CASE("rccl: a rebuild that is refused leaves the communicator as it is") {
  const Outcome o = story({"make", "rebuild", "all_reduce", "value"});
  CHECK_SAYS(o, "rebuild: unsupported | Communicator::rebuild on rccl rank 0 of 2 on hip:0: its ranks share no store");
  CHECK_SAYS(o, "element: 2\n");
}

TEST_CASE("rccl: a timeout names the rank that did not come, or came with another operation") {
  const std::string late = "all_reduce of 1000 float32 by sum (number 2) has not ended within 300 ms; ";
  const Outcome absent = story({"make_short", "all_reduce", "all_reduce_but_last", "synchronize", "check_last"});
  CHECK_SAYS(absent,
             late + "rank 1 (hip:1) has not called it: its last one is all_reduce of 1000 float32 by sum (number 1)");
  CHECK_SAYS(absent, "hip:1: rank 0 (hip:0) has failed: " + late.substr(0, late.size() - 2) +
                         "; the last operation of this rank, all_reduce of 1000 float32 by sum (number 1), is complete");
  const Outcome other = story({"make_short", "all_reduce", "last_broadcasts", "synchronize"}, "hang=3");
  CHECK_SAYS(other, late + "rank 1 (hip:1) has called another operation: broadcast of 1000 float32 with root 0 (number 2)");
  const Outcome message = story({"make_short", "send_alone", "synchronize"});
  CHECK_SAYS(message,
             "send of 1000 float32 to rank 1 (message 1) has not ended within 300 ms; rank 1 (hip:1) has not called "
             "it: it has called none");
  // Ranks of several processes are not connected by themselves.
  const Outcome alone = story({"make_short", "all_reduce", "synchronize"}, "hang=1", {{"CPU_CUDA_DEVICES", "1"}});
  CHECK_FALSE(alone.says("has not called"));
}

TEST_CASE("rccl: WEIR_COMM_CHECK gives all ranks the sentence before anything is enqueued") {
  const auto checked = [](const std::vector<std::string>& steps) { return story(steps, "", {{"WEIR_COMM_CHECK", "1"}}); };
  const std::string is = "the ranks call different operations: rank 0 all_reduce of 1000 float32 by sum, rank 1 ";
  for (const auto& [step, text] : std::vector<std::pair<std::string, std::string>>{
           {"last_broadcasts", is + "broadcast of 1000 float32 with root 0 (number 2)"},
           {"last_has_less", is + "all_reduce of 999 float32 by sum (number 2)"},
           {"last_has_ints", is + "all_reduce of 1000 int32 by sum (number 2)"},
           {"last_takes_max", is + "all_reduce of 1000 float32 by max (number 2)"},
           {"roots",
            "the ranks call different operations: rank 0 broadcast of 1000 float32 with root 0, rank 1 broadcast of "
            "1000 float32 with root 1 (number 2)"},
           {"send_short", "rank 0 sends 999 float32 to rank 1, but that rank receives 1000 float32"}}) {
    const Outcome o = checked({"make_short", "all_reduce", "synchronize", step, "check_each", "value"});
    CHECK_SAYS(o, step + ": communicator_failed |");
    CHECK(o.count(text) == 3);  // of the call and of each rank's check
    CHECK_SAYS(o, "element: 2\n");
  }
  CHECK_SAYS(
      checked({"make_short", "all_reduce", "all_reduce_but_last"}),
      "all_reduce_but_last: communicator_failed | Communicator::all_reduce on rccl rank 0 of 2 on hip:0: rank 1 (hip:1) "
      "has not called number 2, all_reduce of 1000 float32 by sum, within 300 ms");
  const Outcome right =
      checked({"make", "all_reduce", "all_to_all", "barrier", "launch", "split", "all_reduce", "synchronize"});
  CHECK(right.count(": ok\n") == 8);
  CHECK_SAYS(story({"make"}, "", {{"WEIR_COMM_CHECK", "yes"}}), "make: invalid_environment");
}

TEST_CASE("rccl: a call that the library refuses does not count in the record") {
  const Outcome o = story({"make_short", "all_reduce", "all_reduce", "synchronize", "record"}, "fail=AllReduce:1:4");
  CHECK_SAYS(o, R"({"call": 1, "match": 1, "kind": "all_reduce", "count": 1000, "type": "float32", "reduction": "sum", )"
                R"("state": "refused")");
  CHECK_SAYS(o, R"({"call": 2, "match": 1, )");
}

TEST_CASE("rccl: the timeline has collectives among the work of their streams") {
  const Outcome o = story({"make", "all_reduce", "all_reduce", "synchronize"}, "",
                          {{"WEIR_TOOLS", "timeline"}, {"WEIR_TIMELINE", "/dev/null"}});
  INFO(o.errors);
  CHECK(weir::test::count(": 3 operations, busy", o.errors) == 2);  // a fill and two collectives on each device
}
