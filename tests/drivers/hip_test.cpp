// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/drivers/hip_story.hpp"

// Tests how the HIP backend handles the results of a runtime library, with stand-ins for several releases.
// docs/hip-traps.md refers to these cases by their traps.

using weir::test::between_marks;
using weir::test::calls;
using weir::test::fake;
using weir::test::in_order;
using weir::test::Outcome;
using weir::test::since;
using weir::test::tell;

// --- Loading ----------------------------------------------------------------------------------------------------------

TEST_CASE("hip loading: a runtime library that is not there is named, with the loader's words") {
  const Outcome o = tell("6.2", "", {"info", "open"}, {{"WEIR_HIP_RUNTIME", "/nonexistent/libamdhip64.so.6"}});
  CHECK_SAYS(o, "state: driver_not_found");
  CHECK_SAYS(o, "/nonexistent/libamdhip64.so.6: cannot open shared object file");
  CHECK_SAYS(o, "WEIR_HIP_RUNTIME contains this name; correct or unset the variable");
  CHECK_SAYS(o, "open: driver_not_found");
}

TEST_CASE("hip loading: a relative path is refused, not guessed at") {
  CHECK_SAYS(tell("6.2", "", {"open"}, {{"WEIR_HIP_RUNTIME", "libamdhip64.so.6"}}), "open: invalid_environment");
}

TEST_CASE("hip loading: a file that is no runtime") {
  const Outcome o = tell("6.2", "", {"open"}, {{"WEIR_HIP_RUNTIME", WEIR_TEST_NO_DRIVER}});
  CHECK_SAYS(o, "open: driver_too_old");
  CHECK_SAYS(o, "hipRuntimeGetVersion");
}

TEST_CASE("hip loading T9: a copy that the process has loaded already is used") {
  // Under a name that the loader would not find, so that only the loaded copy can be it.
  const Outcome o = weir::test::run(
      WEIR_TEST_STORY, {"info"},
      weir::test::with_mutation({{"WEIR_BACKEND", "hip"}, {"WEIR_TEST_DRIVER", ""}, {"LD_PRELOAD", fake("6.2")}}));
  INFO(o.output, o.errors);
  CHECK(o.says("state: usable"));
  CHECK(o.says("tried: " + fake("6.2") + ": opened"));
  CHECK_FALSE(o.says("tried: libamdhip64.so.10"));
}

TEST_CASE("hip loading T9: sonames are tried by number, newest first") {
  const Outcome o = weir::test::run(WEIR_TEST_STORY, {"info"}, weir::test::with_mutation({{"WEIR_BACKEND", "hip"}}));
  INFO(o.output);
  const std::size_t ten = o.output.find("tried: libamdhip64.so.10:"), seven = o.output.find("tried: libamdhip64.so.7:");
  REQUIRE(ten != std::string::npos);
  const bool found_at_once = o.output.find("opened", ten) < o.output.find('\n', ten);
  CHECK((found_at_once || ten < seven));
}

TEST_CASE("hip loading: a missing required function is named, all of them at once") {
  const Outcome o = tell("incomplete", "", {"info"});
  CHECK_SAYS(o, "state: driver_too_old");
  CHECK_SAYS(o, "and lacks hipStreamQuery, hipMemcpyAsync, which ROCm has since 6.2 or before");
}

TEST_CASE("hip loading: releases before ROCm 6.2 are refused, by their version and the oldest that is taken") {
  const Outcome o = tell("incomplete", "version=60140091", {"info"});
  CHECK_SAYS(o, "state: driver_too_old");
  CHECK_SAYS(o, "it is HIP 6.1.40091; Weir needs ROCm 6.2 or later: update ROCm");
}

TEST_CASE("hip loading T10: without a device, whatever code says so") {
  const Outcome counted = tell("6.2", "devices=0 trace=1", {"info", "open"});
  CHECK_SAYS(counted, "state: no_device");
  CHECK_SAYS(counted, "HIP 6.2.21153 reports no device; /dev/kfd");
  CHECK_SAYS(counted, "open: no_device | hipErrorNoDevice");
  for (const char* const code : {"100", "101", "3", "35"}) {
    CAPTURE(code);
    CHECK_SAYS(tell("7.1", std::string("fail=hipGetDeviceCount:0:") + code, {"info"}), "state: no_device");
  }
  // A release's first call tells of an invalid device, the later ones of none: neither is taken for an answer.
  CHECK_SAYS(tell("6.2", "fail=hipInit:1:101", {"info"}), "state: usable");
}

TEST_CASE("hip loading: without a device, the features are told as far as the release decides") {
  const Outcome o = tell("6.2", "devices=0", {"info"});
  CHECK_SAYS(o, "would have stream_id: absent hipStreamGetId is not in libamdhip64.so.6 (HIP 6.2.21153); ROCm 7.1 has it");
  CHECK_SAYS(o, "would have batch_memory_operations: emulated");
  CHECK_SAYS(o, "would have modules: native");
}

TEST_CASE("hip loading: a runtime that does not start, with its code") {
  const Outcome o = tell("6.2", "fail=hipGetDeviceCount:0:999", {"info", "open"});
  CHECK_SAYS(o, "state: driver_failed");
  CHECK_SAYS(o, "open: driver_failed | hipErrorUnknown");
}

TEST_CASE("hip calls: each operation of a stream that external code may know asks the runtime at most once") {
  for (const std::string release : {"6.2", "7.2"}) {
    for (const std::string step : {"record", "wait", "wait-stream", "fill", "query", "synchronize"}) {
      CAPTURE(release);
      CAPTURE(step);
      const Outcome o = tell(release, "trace=1", {"wrap", "event", "allocate", "record", step, "mark", step, "mark"});
      INFO(o.errors);
      CHECK(calls(between_marks(o), "hipStreamIsCapturing") <= 1);
    }
  }
}

TEST_CASE("hip calls: a stream that external code destroyed gives an error") {
  const Outcome o = tell("6.2", "fail=hipStreamGetCaptureInfo_v2:0:709 fail=hipStreamIsCapturing:0:709",
                         {"stream", "native-handle", "synchronize", "describe"});
  CHECK_SAYS(o, "synchronize: ");
  CHECK(o.count("synchronize: ok") == 0);
  CHECK_SAYS(o, "describe: ok");
}

// --- Devices ----------------------------------------------------------------------------------------------------------

TEST_CASE("hip device T1: the architecture comes from the newer layout of the properties") {
  CHECK_SAYS(tell("6.2", "", {"properties"}), "architecture: gfx942:sramecc+:xnack-");
  CHECK_SAYS(tell("10.0", "", {"properties"}), "architecture: gfx942:sramecc+:xnack-");
}

TEST_CASE("hip device T20: a uuid is text, and one that devices may share is none") {
  CHECK_SAYS(tell("6.2", "", {"properties"}), "uuid: GPU-1000000000000000\n");
  const Outcome shared = tell("6.2", "shared_uuid=1", {"properties"});
  CHECK_SAYS(shared, "uuid: \n");
  CHECK_SAYS(shared, "pci: 0000:00:00.0");
}

TEST_CASE("hip device: an attribute that a release does not implement is unknown, and not a no") {
  CHECK_SAYS(tell("6.2", "unknown_attributes=78", {"features"}), "feature stream_priorities: native");
  CHECK_SAYS(tell("6.2", "unknown_attributes=90", {"features"}), "feature host_registration: native");
}

TEST_CASE("hip device T17: stream-ordered memory needs the attribute, not the symbol") {
  CHECK_SAYS(tell("6.2", "attributes=0", {"features"}),
             "feature async_allocation: absent this device lacks it: hipDeviceAttributeMemoryPoolsSupported is 0");
  CHECK_SAYS(tell("6.2", "", {"features"}), "feature async_allocation: native");
}

// --- Features by release ----------------------------------------------------------------------------------------------

TEST_CASE("hip features: what each release has, with the release that has more") {
  const Outcome middle = tell("6.2", "", {"features"});
  CHECK_SAYS(middle, "feature graph_capture: native");
  CHECK_SAYS(middle, "feature capture_into_graph: native");
  CHECK_SAYS(middle, "feature host_functions: native");
  CHECK_SAYS(middle, "feature memory_operations_in_capture: absent hipStreamBatchMemOp is not in ");
  CHECK_SAYS(middle, "; ROCm 10.0 has the feature");  // the release that has the function has the feature not yet
  CHECK_SAYS(middle, "feature stream_id: absent hipStreamGetId is not in libamdhip64.so.6 (HIP 6.2.21153); ROCm 7.1 has it");
  CHECK_SAYS(
      middle,
      "feature batch_memory_operations: emulated by single operations under one lock: hipStreamBatchMemOp is not in HIP "
      "6.2.21153; ROCm 6.4 has it");
  CHECK_SAYS(middle, "feature external_events: absent a query of an event that a graph records");
  CHECK_SAYS(middle, "feature graph_child_nodes: absent graphs with child graphs");
  CHECK_SAYS(middle, "feature graph_conditional_nodes: absent HIP has no conditional nodes");

  const Outcome newest = tell("10.0", "", {"features"});
  CHECK_SAYS(newest, "feature memory_operations_in_capture: native");
  CHECK_SAYS(newest, "feature graph_child_nodes: native");
  CHECK_SAYS(newest, "feature external_events: absent a query of an event that a graph records");
  CHECK_SAYS(newest, "feature batch_memory_operations: native");
  CHECK_SAYS(newest, "feature stream_id: native");
  CHECK_SAYS(newest, "feature native_context: absent HIP has no contexts");
}

TEST_CASE("hip features T5 T6: waits for values are there for those who know their terms; >= and flushes for nobody") {
  const Outcome o = tell("7.1", "", {"features"});
  CHECK_SAYS(o, "feature write_value_32: native");
  CHECK_SAYS(o, "feature wait_value_32: absent a wait occupies a hardware queue");
  const Outcome chosen =
      tell("7.1", "", {"features"}, {{"WEIR_ENABLE_FEATURES", "wait_value_32,wait_value_64,wait_value_nor"}});
  CHECK_SAYS(chosen, "feature wait_value_32: native");
  CHECK_SAYS(chosen, "feature wait_value_64: native");
  CHECK_SAYS(chosen, "feature wait_value_nor: native");
  CHECK_SAYS(chosen, "feature wait_value_geq: absent HIP compares without regard to wrapping");
  CHECK_SAYS(chosen, "feature wait_value_flush: absent");
  for (const char* const wrong : {"", "wait_value", "wait_value_32,", ",wait_value_32"}) {
    CAPTURE(wrong);
    CHECK_SAYS(tell("7.1", "", {"open"}, {{"WEIR_ENABLE_FEATURES", wrong}}), "open: invalid_environment");
  }
}

// --- Calls ------------------------------------------------------------------------------------------------------------

TEST_CASE("hip calls: batches are one call where there is one, else single operations in order") {
  const Outcome old = tell("6.2", "trace=1", {"stream", "allocate", "write-batch"});
  CHECK_SAYS(old, "words: 5 6");
  CHECK(calls(old, "hipStreamWriteValue32") == 2);
  CHECK(calls(tell("10.0", "trace=1", {"stream", "allocate", "write-batch"}), "hipStreamBatchMemOp") == 1);
}

TEST_CASE("hip calls T3: a cooperative launch, which would run at once, is refused in a capture, which goes on") {
  for (const char* const release : {"6.2", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "trace=1", {"stream", "begin-capture", "cooperative", "end-capture", "cooperative"});
    CHECK_SAYS(o, "cooperative: capture_unsupported |  | Stream::launch on hip:0");
    CHECK_SAYS(o, "this driver cannot capture a cooperative launch");
    CHECK_SAYS(o, "end-capture: ok\ncooperative: ok");
    CHECK(calls(o, "hipModuleLaunchCooperativeKernel") == 1);
    CHECK(in_order(o, {"hipStreamEndCapture", "hipModuleLaunchCooperativeKernel"}));
  }
}

TEST_CASE("hip calls: launches in clusters from 10.0 on, where the device has them, and not in a capture") {
  const Outcome o =
      tell("10.0", "trace=1 attributes=64", {"stream", "begin-capture", "clusters", "end-capture", "clusters"});
  CHECK_SAYS(o, "clusters: capture_unsupported |  | Stream::launch on hip:0");
  CHECK_SAYS(o, "end-capture: ok\nclusters: ok");
  CHECK(calls(o, "hipDrvLaunchKernelEx") == 1);
  CHECK(o.errors.find("clusters: grid 8 1 1, block 32 1 1, attribute 4 of 1: 4 1 1") != std::string::npos);
  CHECK_SAYS(tell("10.0", "attributes=64 clusters=0", {"stream", "clusters"}),
             "this device lacks it: hipDeviceProp_t::clusterLaunch is 0");
  const Outcome old = tell("7.14", "trace=1 attributes=64", {"stream", "clusters"});
  CHECK_SAYS(old, "HIP launches thread block clusters from 10.0 on");
  CHECK(calls(old, "hipDrvLaunchKernelEx") == 0);
}

TEST_CASE("hip calls T4 T6: waits pass the mask that C has no default for, and HIP's own numbers of conditions") {
  const Outcome o = tell("7.1", "trace=1 async=1", {"stream", "allocate", "wait-values", "end-at-once"},
                         {{"WEIR_ENABLE_FEATURES", "wait_value_32,wait_value_64,wait_value_nor"}});
  INFO(o.errors);
  for (const char* const wait : {"32 -1 -1 5 1 ", "32 -1 -1 6 2 ", "32 -1 -1 6 3 ", "64 -1 -1 5 1 ", "64 -1 -1 6 2 "}) {
    CHECK(o.complains(std::string("call hipStreamWaitValue") + wait + "-1\n"));
  }
}

TEST_CASE("hip calls T19: registered memory takes flags that mean the same to both vendors") {
  CHECK(tell("6.2", "trace=1", {"register"}).complains("call hipHostRegister -1 4096 3 "));  // portable and mapped
}

TEST_CASE("hip calls: fills in two dimensions go row by row, or by bytes where these are all the same") {
  for (const char* const release : {"6.2", "7.14"}) {
    CAPTURE(release);
    CHECK_SAYS(tell(release, "", {"stream", "allocate", "fill-2d-shown"}), "words: 7 7 0 0 7 7 0 0 7 7 0 0\n");
    CHECK(calls(tell(release, "trace=1", {"stream", "allocate", "fill-2d"}), "hipMemsetD32Async") == 3);
    const Outcome zeros = tell(release, "trace=1", {"stream", "allocate", "fill-2d-with-zeros"});
    CHECK(calls(zeros, "hipMemset2DAsync") == 1);
    CHECK(calls(zeros, "hipMemsetD32Async") == 0);
  }
}

TEST_CASE("hip calls T7: the flag for other processes' memory is the one that HIP takes") {
  CHECK_SAYS(tell("6.2", "", {"open-memory"}), "open-memory: unsupported | hipErrorNotSupported");  // by the device
}

TEST_CASE("hip calls T7: kinds of nodes are the release's numbers") {
  CHECK_SAYS(tell("6.2", "first_node=0", {"stream", "allocate", "capture-fills"}), "nodes: kernel copy fill host_function");
  CHECK_SAYS(tell("6.2", "first_node=10", {"stream", "allocate", "capture-fills"}), "nodes: allocate free copy copy");
  CHECK_SAYS(tell("10.0", "first_node=14", {"stream", "allocate", "capture-fills"}), "nodes: memory_operations");
  CHECK_SAYS(tell("10.0", "first_node=77", {"stream", "allocate", "capture-fills"}), "nodes: other");
}

TEST_CASE("hip calls T8: a thread's device is set where it is another, and put back") {
  const Outcome o = tell("6.2", "devices=2 trace=1", {"stream", "synchronize"}, {{"WEIR_DEVICE", "1"}});
  CHECK(in_order(o, {"hipSetDevice 1", "hipStreamCreateWithPriority", "hipSetDevice 0", "hipSetDevice 1",
                     "hipStreamSynchronize", "hipSetDevice 0"}));
  CHECK(calls(tell("6.2", "trace=1", {"stream", "synchronize"}), "hipSetDevice") == 0);
}

TEST_CASE("hip calls T11: a stream is brought back from an invalidated capture, where the release does not do so") {
  const std::vector<std::string> steps = {"stream",      "begin-capture", "synchronize-natively",
                                          "end-capture", "begin-capture", "end-capture"};
  const Outcome old = tell("6.2", "trace=1", steps);
  CHECK_SAYS(old, "end-capture: capture_invalidated");
  CHECK_SAYS(old, "end-capture: ok");
  CHECK(in_order(
      old, {"hipStreamBeginCapture", "hipStreamEndCapture", "hipStreamBeginCapture", "hipStreamUpdateCaptureDependencies",
            "hipStreamEndCapture", "hipGraphDestroy", "hipStreamBeginCapture"}));
  CHECK(calls(tell("10.0", "trace=1", steps), "hipStreamBeginCapture") == 2);
}

TEST_CASE("hip calls: a capture's end that fails leaves no graph, whatever the runtime has written") {
  for (const char* const release : {"6.2", "7.14", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "fail=hipStreamEndCapture:1:908 trace=1", {"stream", "begin-capture", "end-capture"});
    INFO(o.errors);
    CHECK(calls(o, "hipStreamEndCapture") >= 1);
    CHECK(calls(o, "hipGraphDestroy") == 0);
  }
}

TEST_CASE("hip calls: the suggested size of a block is one that the kernel was compiled for") {
  CHECK_SAYS(tell("7.14", "", {"module", "kernel", "suggest"}), "suggested: 64 and 64");
}

TEST_CASE("hip calls T11: what is not joined is joined before the end, and told of all the same") {
  const Outcome o = tell("6.2", "trace=1",
                         {"stream", "second", "allocate", "begin-capture", "fill", "second-waits", "second-fill", "fill",
                          "end-capture", "begin-capture", "end-capture", "second-fill"});
  CHECK_SAYS(o, "end-capture: capture_unjoined");
  CHECK_SAYS(o, "end-capture: ok\nsecond-fill: ok");
  CHECK(in_order(o, {"hipGraphGetNodes", "hipStreamUpdateCaptureDependencies", "hipStreamEndCapture", "hipGraphDestroy"}));
  INFO(o.errors);
  CHECK(o.complains("call hipStreamUpdateCaptureDependencies -1 -1 1 0 "));
}

TEST_CASE("hip calls T15: the legacy default stream is the null handle, on every release") {
  for (const char* const release : {"6.2", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "trace=1", {"allocate", "default-fill"});
    CHECK_SAYS(o, "default-fill: ok");
    INFO(o.errors);
    CHECK(o.complains("call hipMemsetD32Async -1 1 64 0 "));
  }
}

TEST_CASE("hip calls: stream-ordered memory is not freed into a capture that the driver would not end with its stream") {
  const std::vector<std::string> steps = {"stream", "keep-async", "begin-capture", "drop-stream", "drop-async"};
  const Outcome ended = tell("6.2", "trace=1", steps);
  CHECK(in_order(ended, {"hipStreamEndCapture", "hipFreeAsync", "hipStreamDestroy"}));
  const Outcome refused = tell("6.2", "trace=1 fail=hipStreamEndCapture:0:908", steps);
  CHECK(calls(refused, "hipStreamEndCapture") == 1);
  CHECK(calls(refused, "hipStreamDestroy") == 0);
  CHECK(calls(refused, "hipFreeAsync") == 0);
  CHECK(refused.complains("stream-ordered memory is leaked: "));
}

TEST_CASE("hip calls: memory is freed at once while a capture is open, under the mode that lets the capture live") {
  const Outcome o = tell("6.2", "trace=1", {"stream", "allocate", "begin-capture", "mark", "drop-memory", "end-capture"});
  INFO(o.errors);
  CHECK(in_order(o, {"mark", "hipThreadExchangeStreamCaptureMode", "hipFree", "hipThreadExchangeStreamCaptureMode",
                     "hipStreamEndCapture"}));
}

TEST_CASE("hip calls: a module is loaded while a capture is open, under the mode that lets the capture live") {
  const Outcome o = tell("7.2", "trace=1", {"stream", "begin-capture", "mark", "module", "kernel", "launch", "end-capture"});
  INFO(o.errors);
  CHECK_SAYS(o, "module: ok");
  CHECK_SAYS(o, "end-capture: ok");
  CHECK(in_order(o, {"mark", "hipThreadExchangeStreamCaptureMode", "hipModuleLoadData", "hipThreadExchangeStreamCaptureMode",
                     "hipStreamEndCapture"}));
}

TEST_CASE("hip calls: stream-ordered memory that another stream's capture keeps from being freed is freed later") {
  for (const char* const code : {"900", "906"}) {
    CAPTURE(code);
    const std::string script = std::string("trace=1 fail=hipFreeAsync:1:") + code;
    const Outcome closed = tell("6.2", script, {"stream", "keep-async", "drop-async", "close"});
    INFO(closed.errors);
    CHECK(in_order(closed, {"hipFreeAsync", "hipFreeAsync", "hipStreamDestroy"}));
    CHECK_FALSE(closed.complains("leaked"));
    const Outcome again = tell("6.2", script, {"stream", "keep-async", "drop-async", "async"});
    INFO(again.errors);
    CHECK(in_order(again, {"hipFreeAsync", "hipFreeAsync", "hipMallocAsync", "hipFreeAsync"}));
    CHECK(calls(again, "hipFreeAsync") == 3);
    CHECK_FALSE(again.complains("leaked"));
  }
}

TEST_CASE("hip calls: a stream that was wrapped is destroyed with its owner, although unused wrappers are kept") {
  const Outcome o = tell("6.2", "trace=1", {"stream", "borrow", "drop-stream", "mark"});
  INFO(o.errors);
  CHECK(calls(o, "hipStreamDestroy") == 1);
  CHECK(in_order(o, {"hipStreamDestroy", "mark"}));
}

TEST_CASE("hip calls: deferred frees are tried again at the stream's next call") {
  // All three are refused, and at the next call the first of them once more.
  const Outcome o = tell("6.2", "trace=1 fail=hipFreeAsync:1-4:900",
                         {"stream", "keep-async", "keep-async", "keep-async", "drop-async", "drop-async", "drop-async",
                          "query", "mark", "query", "mark", "close"});
  INFO(o.errors);
  CHECK(calls(o, "hipFreeAsync") == 3 + 3 + 1);
  CHECK(weir::test::count("freed ", o.errors) == 3);
  CHECK_FALSE(o.complains("leaked"));
}

TEST_CASE("hip calls: memory whose free a capture forbids when its stream ends is leaked, and no handle is used later") {
  SUBCASE("the capture of another stream, so that the driver refuses") {
    for (const char* const wrap : {"wrap", "wrap-kept", "adopt-kept", "stream"}) {
      CAPTURE(wrap);
      const Outcome o = tell("6.2", "trace=1 fail=hipFreeAsync:1-2:900",
                             {wrap, "keep-async", "drop-async", "drop-stream", "mark", "stream", "async"});
      INFO(o.errors);
      CHECK(o.complains("stream-ordered memory is leaked"));
      CHECK(calls(since(o, "mark"), "hipFreeAsync") == 1);  // the last step's own
    }
  }
  SUBCASE("the stream's own, which external code began") {
    for (const char* const wrap : {"wrap", "wrap-kept", "adopt-kept"}) {
      CAPTURE(wrap);
      const Outcome o =
          tell("6.2", "trace=1", {wrap, "keep-async", "capture-natively", "drop-async", "drop-stream", "mark"});
      INFO(o.errors);
      CHECK(calls(o, "hipFreeAsync") == 0);
      CHECK(o.complains("stream-ordered memory is leaked"));
    }
  }
}

TEST_CASE("hip calls: memory whose free is refused while another thread closes its stream is leaked, or freed by the end") {
  const Outcome o =
      tell("6.2", "trace=1 fail=hipFreeAsync:0:900 delay=300000 hold=hipEventCreateWithFlags:1:hipFreeAsync:1",
           {"wrap", "keep-async", "drop-async-beside", "event", "close", "join", "drop-stream", "mark", "stream", "close"});
  INFO(o.errors);
  CHECK(calls(since(o, "mark"), "hipFreeAsync") == 0);
  CHECK(o.complains("stream-ordered memory is leaked"));
}

TEST_CASE(
    "hip calls: many threads, whose frees are refused now and then, free or leak all, and use no stream that is gone") {
  std::vector<std::string> steps = {"many-threads"};
  for (int i = 0; i < 20; ++i) steps.insert(steps.end(), {"stream", "close"});  // which try what still waits
  // The bridge ends the process for a stream that is gone.
  const Outcome o = tell("7.1", "trace=1 fail=hipFreeAsync:*3:900 delay=20", steps);
  const int allocated = calls(o, "hipMallocAsync"), freed = weir::test::count("freed ", o.errors);
  CHECK(allocated == 4 * 100 * 3);
  CHECK(freed + weir::test::count("memory is leaked: ", o.errors) == allocated);
}

TEST_CASE("hip calls: a free that is refused within the capture that allocated is told of, and not tried elsewhere") {
  const Outcome o = tell("10.0", "trace=1 fail=hipFreeAsync:1:900",
                         {"stream", "begin-capture", "keep-async", "drop-async", "end-capture", "async"},
                         {{"WEIR_ENABLE_FEATURES", "graph_memory_nodes"}});
  INFO(o.errors);
  CHECK(o.complains("the memory is freed with the graph"));
  CHECK(calls(o, "hipFreeAsync") == 2);
}

TEST_CASE("hip calls: a stream cannot be handed out while its memory waits") {
  const Outcome o = tell("6.2", "fail=hipFreeAsync:1-2:900", {"stream", "keep-async", "drop-async", "release", "release"});
  CHECK_SAYS(o, "release: invalid_argument");
  CHECK_SAYS(o, "which a capture forbids");
  CHECK_SAYS(o, "release: ok");
}

TEST_CASE("hip calls: a capture of other code's that is invalidated while it is being ended is ended, not missed") {
  // Asked when it is wrapped; by its end twice, between which it is invalidated.
  const Outcome o = tell("6.2", "trace=1 break=3", {"wrap", "capture-natively", "end-capture"});
  CHECK_SAYS(o, "end-capture: capture_invalidated");
  INFO(o.errors);
  CHECK(calls(o, "hipStreamEndCapture") >= 1);
}

TEST_CASE("hip calls: whoever comes second to begin or to end a capture is told so") {
  CHECK_SAYS(tell("6.2", "fail=hipStreamBeginCapture:0:401", {"stream", "begin-capture"}),
             "begin-capture: already_capturing | ");
  const Outcome o = tell("6.2", "fail=hipStreamEndCapture:1:401", {"stream", "begin-capture", "end-capture", "end-capture"});
  CHECK_SAYS(o, "end-capture: not_capturing | ");
  CHECK_SAYS(o, "the capture was ended by other code");
}

TEST_CASE("hip calls T17: memory of the default stream is allocated, and freed, on a stream that is none") {
  const Outcome o = tell("6.2", "trace=1", {"default-async"});
  CHECK_SAYS(o, "default-async: ok");
  INFO(o.errors);
  CHECK(o.complains("call hipMallocAsync -1 256 -1 "));
  CHECK(o.complains("call hipStreamCreateWithPriority -1 0 0 "));  // a blocking one, which is in the default stream's order
}

TEST_CASE("hip calls T23: a stream that is not idle ends on another thread, once it is") {
  const Outcome o = tell("6.2", "busy=3 trace=1", {"stream", "drop-stream", "stream", "query"});
  CHECK_SAYS(o, "drop-stream: ok");
  // Not ready once for the drop, then asked for until it is.
  INFO(o.errors);
  CHECK(calls(o, "hipStreamQuery") >= 2);
  const Outcome idle = tell("6.2", "trace=1", {"stream", "drop-stream"});
  CHECK(in_order(idle, {"hipStreamQuery", "hipStreamDestroy"}));
  // There, its own device is current: else the stand-in ends the process.
  const Outcome second =
      tell("6.2", "devices=2 busy=3", {"stream", "drop-stream", "until:hipStreamDestroy:1"}, {{"WEIR_DEVICE", "1"}});
  CHECK_SAYS(second, "until:hipStreamDestroy:1: ok");
}

TEST_CASE("hip calls T14 T24: the host waits for events, and on some releases for streams, by asking") {
  const Outcome o = tell("6.2", "busy=3 trace=1", {"stream", "event", "record", "event-synchronize", "synchronize"});
  CHECK(calls(o, "hipEventElapsedTime") == 4);
  CHECK(calls(o, "hipStreamSynchronize") == 1);
  CHECK(calls(tell("7.14", "busy=3 trace=1", {"stream", "event", "record", "event-synchronize"}), "hipEventQuery") == 4);
  const Outcome later = tell("10.0", "busy=3 trace=1", {"stream", "synchronize"});
  CHECK(calls(later, "hipStreamQuery") == 4 + 1);  // and once more when the stream is destroyed
  // Then the runtime's own wait, which returns at once: it gives memory of pools back to the device.
  CHECK(in_order(o, {"hipEventElapsedTime", "hipEventSynchronize"}));
  CHECK(in_order(later, {"hipStreamQuery", "hipStreamSynchronize"}));
  CHECK(calls(o, "hipEventSynchronize") == 1);
  CHECK(calls(later, "hipStreamSynchronize") == 1);
}

TEST_CASE("hip calls T14 T24: who waits by asking sleeps in between, spins or makes way, as it was told to") {
  // After each of forty questions to which the answer is "not ready". No wait looks at what another thread does.
  const auto told = [](const std::string& release, std::vector<std::string> steps) {
    steps.insert(steps.end() - 1, "waits");  // the driver on the CPU makes way as well
    steps.emplace_back("waits");
    Outcome o = tell(release, "busy=40", steps);
    o.output.erase(0, o.output.rfind("naps: "));
    return o;
  };
  CHECK_SAYS(told("6.2", {"stream", "blocking-event", "record", "event-synchronize"}), "naps: 40, yields: 0");
  CHECK_SAYS(told("10.0", {"stream", "policy-block", "synchronize"}), "naps: 40, yields: 0");
  CHECK_SAYS(told("10.0", {"stream", "policy-yield", "synchronize"}), "naps: 0, yields: 40");
  CHECK_SAYS(told("10.0", {"stream", "policy-spin", "synchronize"}), "naps: 0, yields: 0");
  // Without a policy it makes way first, and sleeps when that takes long.
  const Outcome o = told("6.2", {"stream", "event", "record", "event-synchronize"});
  int naps = 0, yields = 0;
  const std::size_t at = o.output.find("naps: ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(o.output.c_str() + at, "naps: %d, yields: %d", &naps, &yields) == 2);
  CHECK(naps + yields == 40);
}

// --- Calls that fail --------------------------------------------------------------------------------------------------

TEST_CASE("hip errors: the runtime's code becomes Weir's, and the next call works") {
  const std::pair<std::string, const char*> cases[] = {
      {"1", "synchronize: invalid_argument | hipErrorInvalidValue | Stream::synchronize"},
      {"2", "synchronize: out_of_memory | hipErrorOutOfMemory"},
      {"400", "synchronize: backend_failure | hipErrorInvalidHandle"},
      {"700", "synchronize: device_fault | hipErrorIllegalAddress"},
      {"719", "synchronize: device_fault | hipErrorLaunchFailure"},
      {"916", "the execution context that the stream belongs to was destroyed"}};
  for (const auto& [code, says] : cases) {
    const Outcome o = tell("6.2", "fail=hipStreamSynchronize:1:" + code, {"stream", "synchronize", "synchronize"});
    CHECK_SAYS(o, says);
    CHECK_SAYS(o, "synchronize: ok");
  }
  CHECK_SAYS(tell("6.2", "fail=hipModuleLoadData:1:209", {"load"}), "load: invalid_image");
  CHECK_SAYS(tell("6.2", "fail=hipSetDevice:1:101", {"stream"}), "stream: ok");
}

TEST_CASE("hip calls T18: no error stays behind as the thread's last one, to be taken for another's") {
  for (const char* const release : {"6.2", "7.1", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "fail=hipMemcpyAsync:1:1 busy=1",
                           {"stream", "allocate", "copy", "driver-last-error", "query", "driver-last-error"});
    CHECK_SAYS(o, "complete: 0");  // "not ready", which is the last call's code up to 6.4
    CHECK_SAYS(o, "copy: invalid_argument");
    INFO(o.output);
    CHECK(o.count("last error: 0") == 2);
  }
  // Before 7.0 the next call's code would hide it.
  const Outcome o = tell("6.2", "busy=1 trace=1", {"stream", "mark", "query", "mark"});
  CHECK(calls(between_marks(o), "hipGetLastError") == 1);
}

TEST_CASE("hip calls: failures in destructors are logged, save that the runtime has shut down") {
  const Outcome failed =
      tell("6.2", "fail=hipStreamDestroy:1:400 fail=hipFree:1:400", {"stream", "drop-stream", "allocate", "drop-memory"});
  CHECK_SAYS(failed, "drop-stream: ok");
  CHECK_SAYS(failed, "drop-memory: ok");
  CHECK(failed.complains("while a stream was destroyed"));
  CHECK(failed.complains("memory is leaked"));
  const Outcome at_exit = tell("6.2", "fail=hipStreamDestroy:0:4 fail=hipFree:0:4", {"stream", "allocate"});
  CHECK_FALSE(at_exit.complains("weir error"));
}

TEST_CASE("hip ends: objects that outlive the runtime go silently, as static ones do at the process's end") {
  const Outcome o = tell("6.2", "", {"stream", "event", "allocate", "module", "kernel", "pool", "keep-to-the-end"});
  INFO(o.output, o.errors);
  CHECK(o.count(": ok\n") == 7);
  CHECK_FALSE(o.complains("weir error"));
}

TEST_CASE(
    "hip errors: the runtime's sentence is no second copy of Weir's, and a runtime that has not started has not shut down") {
  const Outcome o = tell("6.2", "fail=hipMalloc:1:2", {"allocate"});
  INFO(o.output);
  CHECK(o.count("memory is exhausted") == 1);
  CHECK_FALSE(tell("6.2", "fail=hipGetDeviceCount:0:3", {"open"}).says("shut down"));
}

TEST_CASE("hip errors: a runtime that does not tell its version is not taken for an old one") {
  const Outcome o = tell("6.2", "fail=hipRuntimeGetVersion:1:1", {"info"});
  CHECK_SAYS(o, "state: driver_failed");
  CHECK_SAYS(o, "the runtime does not report its version");
}

TEST_CASE("hip errors: a launch that is refused is no fault of the device, nor is a kernel that cannot be had") {
  const Outcome o = tell("6.2", "fail=hipModuleLaunchKernel:1:719", {"stream", "module", "kernel", "launch", "launch"});
  CHECK_SAYS(o, "launch: invalid_argument | hipErrorLaunchFailure");
  CHECK_SAYS(o, "__launch_bounds__");
  CHECK_SAYS(o, "launch: ok");
  const Outcome loading = tell("6.2", "fail=hipModuleGetFunction:1:719", {"module", "kernel"});
  CHECK_SAYS(loading, "kernel: invalid_image");
  CHECK_SAYS(loading, "kernel 'a_kernel': the runtime cannot prepare the kernel");
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

TEST_CASE("hip kernels: dynamic shared memory is there, although 6.2 says that a block may ask for none") {
  for (const char* const release : {"6.2", "7.1"}) {
    CAPTURE(release);
    CHECK_SAYS(tell(release, "", {"stream", "module", "kernel", "launch-shared"}), "launch-shared: ok");
  }
}

TEST_CASE("hip kernels T8: properties are asked with the kernel's device current") {
  const Outcome o = tell("6.2", "devices=2", {"stream", "module", "kernel", "kernel-properties"}, {{"WEIR_DEVICE", "1"}});
  INFO(o.output);
  CHECK(o.count(": ok\n") == 4);
  CHECK(o.count("registers: 16") == 1);
}

TEST_CASE("hip kernels: one whose properties the runtime does not tell is launched all the same") {
  const Outcome o = tell("6.2", "fail=hipFuncGetAttribute:0:1",
                         {"stream", "module", "kernel", "launch", "launch-shared", "kernel-properties"});
  CHECK_SAYS(o, "launch: ok\nlaunch-shared: ok\n");
  CHECK_SAYS(o, "kernel-properties: invalid_argument");
  CHECK_SAYS(o, "does not report the attributes of kernel 'a_kernel'");
}

// --- Graphs, devices, identity ------------------------------------------------------------------------------------------

TEST_CASE("hip devices: access to a peer's memory is disabled where pools cannot be closed to it") {
  for (const char* const release : {"6.2", "7.1"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "devices=2 trace=1", {"peer-on", "peer-off"});
    CHECK_SAYS(o, "peer-off: ok");
    CHECK(calls(o, "hipDeviceDisablePeerAccess") == 1);
  }
}

TEST_CASE("hip identity: wrappers of one stream have one id, default streams included") {
  for (const char* const release : {"6.2", "10.0"}) {
    CAPTURE(release);
    const Outcome o = tell(release, "", {"default-id", "default-id", "wrap", "id", "wrap", "id"});
    INFO(o.output);
    std::vector<std::string> ids;
    for (std::size_t at = 0; (at = o.output.find("\nid: ", at)) != std::string::npos; ++at) {
      if (const std::string id = o.output.substr(at + 5, o.output.find('\n', at + 5) - at - 5); id != "ok")
        ids.push_back(id);
    }
    ids.insert(ids.begin(), o.output.substr(4, o.output.find('\n') - 4));
    REQUIRE(ids.size() == 4);
    CHECK(ids[0] == ids[1]);
    CHECK(ids[2] == ids[3]);
    CHECK(ids[0] != ids[2]);
  }
}

TEST_CASE("hip identity: a thread's default stream keeps its id until the thread has ended") {
  // Freed memory is overwritten at once, which shows who still reads it.
  const Outcome o = tell("6.2", "", {"per-thread-at-thread-end"},
                         {{"MALLOC_PERTURB_", "165"}, {"GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"}});
  CHECK_SAYS(o, "at the thread's end it is the same");
}

TEST_CASE("hip features: what a build of the runtime lacks, although its release has it") {
  CHECK_SAYS(tell("lacking", "", {"features"}),
             "feature stream_id: absent hipStreamGetId is not in libamdhip64.so.10 (HIP 10.0.21153); HIP has it since 7.1, "
             "but this build "
             "of the runtime does not");
}

// --- HIPRTC -----------------------------------------------------------------------------------------------------------

namespace {

/// With a runtime of 6.2 that stands in a folder.
Outcome features_in(const std::filesystem::path& folder) {
  const std::filesystem::path runtime = folder / "libamdhip64.so.6";
  std::filesystem::create_symlink(fake("6.2"), runtime);
  return weir::test::run_story(
      weir::test::with_mutation({{"WEIR_BACKEND", "hip"}, {"WEIR_HIP_RUNTIME", runtime}}), "", {"features"});
}

}  // namespace

TEST_CASE("hip loading: HIPRTC beside the runtime is found without a number in its name, as wheels have it") {
  const weir::test::TemporaryFolder folder;
  const std::filesystem::path hiprtc = folder.path() + "/libhiprtc.so";
  std::filesystem::create_symlink(fake("7.1"), hiprtc);  // no HIPRTC, but opened
  CHECK_SAYS(features_in(folder.path()), "feature runtime_compilation: absent " + hiprtc.string() + " has no hiprtc");
}

TEST_CASE("hip loading: HIPRTC of another generation beside the runtime is passed over") {
  const weir::test::TemporaryFolder folder;
  const std::filesystem::path at = folder.path();
  std::filesystem::copy_file(fake("7.1"), at / "libhiprtc.so.7.2.53211");
  std::filesystem::create_symlink("libhiprtc.so.7.2.53211", at / "libhiprtc.so");  // as in a folder of the system
  CHECK_SAYS(features_in(at), "feature runtime_compilation: absent no HIPRTC: ");
}
