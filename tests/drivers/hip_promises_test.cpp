// SPDX-License-Identifier: Apache-2.0
#include "tests/drivers/hip_story.hpp"

// Tests guarantees that CUDA's driver gives and AMD's runtime does not. docs/hip-traps.md refers to these cases.

// The stand-in ends the process where the program does what AMD's runtime answers with a crash or with wrong results.

using weir::test::between_marks;
using weir::test::calls;
using weir::test::in_order;
using weir::test::Outcome;
using weir::test::tell;

TEST_CASE("hip graphs: an executable ends, with its kernels' code and its host functions, behind its last launch") {
  for (const char* const release : {"6.2", "7.1", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "busy=1000000 trace=1",
                           {"stream", "module", "kernel", "kernel-graph", "instantiate", "launch-graph", "let-go-of-graph",
                            "drop-kernel", "mark", "drop-graph", "mark", "ready", "until:hipModuleUnload:1"});
    INFO(o.errors);
    const char* const question = release == std::string("10.0") ? "hipEventQuery" : "hipEventElapsedTime";
    CHECK(in_order(o, {"hipGraphLaunch", "hipEventRecord", "mark", question, "mark", "hipGraphExecDestroy",
                       "hipGraphDestroy", "hipModuleUnload"}));
    CHECK(calls(between_marks(o), "hipGraphExecDestroy") == 0);
    CHECK(calls(between_marks(o), "hipModuleUnload") == 0);
    const Outcome functions = tell(release, "busy=1000000 trace=1",
                                   {"stream", "told-graph", "instantiate", "launch-graph", "mark", "drop-graph", "mark",
                                    "ready", "until:hipGraphDestroy:1"});
    CHECK(in_order(functions, {"mark", "mark", "hipGraphExecDestroy", "told"}));
    CHECK(weir::test::count("call told ", functions.errors) == 1);
  }
}

TEST_CASE("hip graphs: what was never launched, or is over, ends at once") {
  const Outcome o = tell("6.2", "trace=1", {"stream", "graph", "instantiate", "mark", "drop-graph", "mark"});
  CHECK(calls(between_marks(o), "hipGraphExecDestroy") == 1);
  const Outcome over =
      tell("6.2", "trace=1", {"stream", "graph", "instantiate", "launch-graph", "mark", "drop-graph", "mark"});
  CHECK(calls(between_marks(over), "hipGraphExecDestroy") == 1);
}

TEST_CASE("hip graphs: what a device other than the first holds ends there") {
  const Outcome o = tell("6.2", "devices=2 busy=2 trace=1",
                         {"stream", "module", "kernel", "kernel-graph", "instantiate", "launch-graph", "drop-kernel",
                          "drop-graph", "until:hipModuleUnload:1"},
                         {{"WEIR_DEVICE", "1"}});
  INFO(o.output, o.errors);
  CHECK(o.count(": ok\n") == 9);
  CHECK(calls(o, "hipModuleUnload") == 1);
  const Outcome never_launched =
      tell("6.2", "devices=2", {"stream", "graph", "instantiate", "graph", "update", "drop-graph"}, {{"WEIR_DEVICE", "1"}});
  CHECK(never_launched.count(": ok\n") == 6);
}

TEST_CASE("hip graphs: launches of one executable on two streams follow one another") {
  const Outcome o =
      tell("6.2", "busy=99 trace=1",
           {"stream", "second", "graph", "instantiate", "launch-graph", "second-launch-graph", "launch-graph"});
  INFO(o.errors);
  CHECK(o.count("launch-graph: ok") == 3);
  CHECK(calls(o, "hipStreamWaitEvent") == 2);
  CHECK(calls(tell("6.2", "trace=1", {"stream", "graph", "instantiate", "launch-graph", "launch-graph"}),
              "hipStreamWaitEvent") == 0);
}

TEST_CASE("hip graphs: an update makes a new executable, and leaves the launch that is under way its own") {
  CHECK_SAYS(tell("6.2", "", {"features"}), "feature graph_update: emulated by instantiating the new graph");
  const Outcome o =
      tell("6.2", "busy=1000000 trace=1",
           {"stream", "second", "told-graph", "instantiate", "launch-graph", "graph", "mark", "update", "mark",
            "second-launch-graph", "ready", "until:hipGraphExecDestroy:1", "drop-graph", "until:hipGraphDestroy:1"});
  INFO(o.output, o.errors);
  CHECK_SAYS(o, "update: ok\nmark: ok\nsecond-launch-graph: ok");
  CHECK(calls(between_marks(o), "hipGraphInstantiateWithFlags") == 1);
  CHECK(calls(between_marks(o), "hipGraphExecDestroy") == 0);
  CHECK(calls(between_marks(o), "told") == 0);
  CHECK(weir::test::count("call told ", o.errors) == 1);
  // The new one's launch follows the former one's, behind which a stream of Weir's waited when the other stream captured.
  CHECK(calls(o, "hipStreamWaitEvent") == 2);
}

TEST_CASE("hip graphs: an update to another shape is refused, and changes nothing") {
  const Outcome o =
      tell("6.2", "trace=1",
           {"stream", "allocate", "graph", "instantiate", "fill-graph", "mark", "update", "mark", "launch-graph"});
  CHECK_SAYS(o, "update: graph_update_failed");
  CHECK_SAYS(o, "node 0 is a fill in the new graph, but a host_function in this; the executable is unchanged");
  CHECK_SAYS(o, "launch-graph: ok");
  CHECK(calls(between_marks(o), "hipGraphInstantiateWithFlags") == 0);
}

TEST_CASE("hip graphs: host functions go with their graph, on releases that lose objects which are moved into one") {
  for (const char* const release : {"6.2", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "trace=1", {"stream", "told-graph", "mark", "let-go-of-graph", "mark"});
    CHECK(weir::test::count("call told ", between_marks(o).errors) == 1);
    CHECK(o.complains("call hipGraphRetainUserObject -1 -1 1 0 "));  // not moved
  }
}

TEST_CASE("hip graphs: the end of a launch is waited for without breaking a capture of its stream") {
  for (const char* const release : {"6.2", "7.1", "10.0"}) {
    CAPTURE(release);
    const Outcome o =
        tell(release, "busy=1000000",
             {"stream", "graph", "instantiate", "launch-graph", "drop-graph", "begin-capture",
              release == std::string("10.0") ? "until:hipEventQuery:5" : "until:hipEventElapsedTime:5", "end-capture"});
    CHECK_SAYS(o, "end-capture: ok");
  }
}

TEST_CASE("hip graphs: threads may capture host functions, and let graphs go, at once") {
  CHECK_SAYS(tell("6.2", "", {"many-captured-functions"}), "many-captured-functions: ok");
}

TEST_CASE("hip graphs: an exception of a child graph's host function is rethrown, even if the executable is gone") {
  const Outcome o =
      tell("10.0", "",
           {"stream", "graph", "parent-graph", "instantiate", "launch-graph", "drop-graph", "synchronize", "synchronize"});
  CHECK_SAYS(o, "drop-graph: ok\nsynchronize: exception | thrown in run 1\nsynchronize: ok\n");
}

TEST_CASE("hip graphs: threads may make, end and copy executables of one graph, and drop streams before their functions") {
  CHECK_SAYS(tell("7.1", "async=1", {"stream", "graph", "many-executables"}), "many-executables: ok");
  CHECK_SAYS(tell("7.1", "async=1", {"many-host-functions"}), "sum: 8000\n");
}

TEST_CASE("hip events: one is asked, and waited for, after its stream's end") {
  const Outcome o = tell("6.2", "trace=1",
                         {"stream", "event", "second", "second-record", "drop-second", "complete", "event-synchronize",
                          "wait", "mark", "drop-event", "mark"});
  INFO(o.output, o.errors);
  CHECK_SAYS(o, "complete: 1\ncomplete: ok\nevent-synchronize: ok\nwait: ok");
  CHECK(calls(between_marks(o), "hipStreamDestroy") == 1);
  // Without an event the stream goes at once.
  const Outcome alone = tell("6.2", "trace=1", {"second", "mark", "drop-second", "mark"});
  CHECK(calls(between_marks(alone), "hipStreamDestroy") == 1);
}

TEST_CASE("hip events: one that is older than its stream's capture is asked, and waited for, without breaking that") {
  for (const char* const release : {"6.2", "7.1", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "busy=3",
                           {"stream", "event", "record", "begin-relaxed", "complete", "event-synchronize", "complete",
                            "event-briefly", "end-capture"});
    CHECK_SAYS(o,
               "complete: 0\ncomplete: ok\nevent-synchronize: ok\ncomplete: 1\ncomplete: ok\ndone: 1\nevent-briefly: ok\n"
               "end-capture: ok");
  }
}

TEST_CASE("hip captures: nested forks are joined without the links that the end would follow for ever") {
  for (const char* const release : {"6.2", "10.0"}) {
    CAPTURE(release);
    const Outcome o =
        tell(release, "",
             {"stream", "second", "third", "allocate", "begin-capture", "fill", "second-waits", "second-fill", "third-waits",
              "third-fill", "second-waits-for-third", "waits-for-second", "fill", "end-into-graph", "topology"});
    CHECK_SAYS(o, "end-into-graph: ok\nedges: 0-1 1-2 0-3 1-3 2-3\n");
  }
}

TEST_CASE("hip captures: the same by events") {
  const Outcome o = tell("6.2", "",
                         {"stream", "second", "event", "allocate", "begin-capture", "fill", "record", "second-wait",
                          "second-fill", "second-record", "wait", "fill", "end-into-graph", "topology"});
  CHECK_SAYS(o, "end-into-graph: ok\nedges: 0-1 0-2 1-2\n");
}

TEST_CASE("hip captures: a fork before the first node gets nothing of an earlier capture") {
  for (const char* const release : {"6.2", "10.0"}) {
    CAPTURE(release);
    const std::vector<std::string> once = {"begin-capture", "second-waits", "second-fill", "waits-for-second",
                                           "end-into-graph"};
    std::vector<std::string> steps = {"stream",       "second",      "allocate",         "begin-capture", "fill",
                                      "second-waits", "second-fill", "waits-for-second", "end-into-graph"};
    steps.insert(steps.end(), once.begin(), once.end());
    steps.emplace_back("topology");
    CHECK_SAYS(tell(release, "", steps), "end-into-graph: ok\nedges:\n");
    const Outcome by_event = tell(release, "",
                                  {"stream", "second", "event", "allocate", "begin-capture", "fill", "record", "second-wait",
                                   "second-fill", "waits-for-second", "end-into-graph", "begin-capture", "record",
                                   "second-wait", "second-fill", "waits-for-second", "end-into-graph", "topology"});
    CHECK_SAYS(by_event, "end-into-graph: ok\nedges:\n");
  }
}

TEST_CASE("hip memory: a pool whose end a capture forbids ends once that is over") {
  // Weir tries again after a while, and more than once while the capture lasts, if that takes long.
  const Outcome o = tell("7.1", "trace=1",
                         {"stream", "second", "pool", "second-begin-global", "mark", "drop-pool", "mark", "second-end",
                          "next:hipMemPoolDestroy:hipStreamEndCapture"});
  INFO(o.output, o.errors);
  CHECK_FALSE(o.complains("weir error"));
  CHECK(calls(between_marks(o), "hipMemPoolDestroy") >= 1);
  CHECK(in_order(o, {"mark", "hipMemPoolDestroy", "mark", "hipStreamEndCapture", "hipMemPoolDestroy"}));
}

TEST_CASE("hip memory: beside another blocking stream's capture, allocations say what is in the way, and frees wait") {
  const Outcome o =
      tell("7.1", "trace=1",
           {"stream", "keep-async", "blocking-second", "second-begin", "async", "drop-async", "second-end", "query"});
  INFO(o.output, o.errors);
  CHECK_SAYS(o, "async: capture_unsupported");
  CHECK_SAYS(o, "while another blocking stream of the device captures");
  CHECK_SAYS(o, "second-end: ok\ncomplete: 1");
  CHECK(weir::test::count("freed ", o.errors) == 1);
  CHECK_FALSE(o.complains("leaked"));
}

TEST_CASE("hip memory: a new pool beside a capture is refused with the reason") {
  const Outcome o = tell("7.1", "", {"second", "second-begin-global", "pool", "second-end", "pool"});
  INFO(o.output);
  CHECK(o.count("pool: ok") == 1);
  CHECK(o.count("pool: capture_unsupported") == 1);
}

TEST_CASE("hip features: where graphs are absent, no stream is asked whether it captures") {
  const Outcome o = tell("7.2", "trace=1",
                         {"features", "stream", "native-handle", "allocate", "fill", "event", "record", "second",
                          "second-wait", "wait-stream", "wrap", "fill", "drop-stream", "wrap", "describe", "begin-capture"},
                         {{"WEIR_ENABLE_FEATURES", "wait_value_32"}});
  CHECK_SAYS(o, "feature graph_capture: absent replayed graphs compute wrong results");
  CHECK_SAYS(o, "feature graph_update: absent there is no capture: replayed graphs");
  CHECK_SAYS(o, "describe: ok\nbegin-capture: unsupported");
  INFO(o.output, o.errors);
  CHECK(o.count(": ok\n") == 15);
  CHECK(calls(o, "hipStreamIsCapturing") + calls(o, "hipStreamGetCaptureInfo_v2") == 0);
}

TEST_CASE("hip process: static objects of the program may go after the runtime has shut down") {
  for (const char* const release : {"6.2", "7.1", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "",
                           {"stream", "second", "event", "second-record", "allocate", "module", "kernel", "told-graph",
                            "instantiate", "launch-graph", "pool", "keep-async", "synchronize", "keep-past-the-end"});
    CHECK_SAYS(o, "keep-past-the-end: ok");
    CHECK_FALSE(o.complains("weir error"));
  }
}

TEST_CASE("hip devices T21: priorities run both ways from those of usual streams, which copies of the device have") {
  const Outcome o = tell("6.2", "trace=1", {"priorities", "allocate", "device-copy"});
  CHECK_SAYS(o, "least: 1, greatest: -1\n");
  INFO(o.errors);
  CHECK(o.complains("call hipStreamCreateWithPriority -1 1 0 "));
}

TEST_CASE("hip kernels T22: a module is loaded for its device, whichever is current") {
  const Outcome o =
      tell("6.2", "devices=2", {"stream", "module", "kernel", "launch", "drop-kernel"}, {{"WEIR_DEVICE", "1"}});
  INFO(o.output, o.errors);
  CHECK(o.count(": ok\n") == 5);
}

TEST_CASE("hip captures: a stream is not destroyed while another thread's capture is open on it") {
  for (const std::string release : {"6.2", "7.14"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "", {"stream", "begin-capture", "drop-stream-beside", "stream", "event", "record"});
    INFO(o.errors);
    CHECK(o.complains("only the thread that began it can end"));
    CHECK_SAYS(o, "record: ok");
    CHECK_FALSE(tell(release, "", {"stream", "begin-capture", "drop-stream"}).complains("weir error"));
  }
  // AMD's capture goes on where another thread fails to end it, and CUDA's does not.
  const Outcome memory = tell("6.2", "trace=1 fail=hipStreamEndCapture:0:908",
                              {"stream", "keep-async", "begin-capture", "drop-stream", "drop-async-beside", "join"});
  INFO(memory.errors);
  CHECK(calls(memory, "hipStreamDestroy") == 0);
  CHECK(memory.complains("stream-ordered memory is leaked: a capture forbids freeing it"));
}

TEST_CASE("hip captures: what made a capture invalid is told of at its end, also where the runtime's end does not") {
  for (const char* const release : {"6.2", "7.1"}) {
    CAPTURE(release);
    const Outcome o =
        tell(release, "silent=1",
             {"stream", "begin-capture", "synchronize-natively", "end-capture", "begin-capture", "end-capture"});
    CHECK_SAYS(o, "end-capture: capture_invalidated");
    CHECK_SAYS(o, "begin-capture: ok\nend-capture: ok");
  }
}

TEST_CASE("hip calls: a stream that external code has destroyed is named as the cause, where the runtime tells") {
  const Outcome o = tell("6.2", "", {"stream", "allocate", "destroy-natively", "fill", "synchronize", "query", "describe"});
  for (const char* const step : {"fill", "synchronize", "query"}) {
    CAPTURE(step);
    CHECK_SAYS(o, std::string(step) + ": backend_failure");
  }
  CHECK_SAYS(o, "the stream or event was destroyed by other code");
  CHECK_SAYS(o, "describe: ok");
}
