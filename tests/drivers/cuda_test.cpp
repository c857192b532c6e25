// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/drivers/trace.hpp"
#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"

// Tests how the CUDA backend handles the results of a driver library, with stand-ins for the library.

using weir::test::between_marks;
using weir::test::calls;
using weir::test::Environment;
using weir::test::in_order;
using weir::test::Outcome;
using weir::test::since;

namespace {

Outcome tell(const std::string& script, const std::vector<std::string>& steps, Environment environment = {}) {
  environment.try_emplace("WEIR_BACKEND", "cuda");
  environment.try_emplace("WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA);
  environment.try_emplace("WEIR_NVRTC", "/nonexistent/libnvrtc.so");
  return weir::test::run_story(environment, script, steps);
}

}  // namespace

// --- Loading ----------------------------------------------------------------------------------------------------------

TEST_CASE("cuda loading: a missing driver library is named, with the loader's message") {
  const Outcome o = tell("", {"info", "open"}, {{"WEIR_CUDA_DRIVER", "/nonexistent/libcuda.so.1"}});
  CHECK_SAYS(o, "state: driver_not_found");
  CHECK_SAYS(o, "/nonexistent/libcuda.so.1: cannot open shared object file");
  CHECK_SAYS(o, "WEIR_CUDA_DRIVER contains this name; correct or unset the variable");
  CHECK_SAYS(o, "open: driver_not_found");
}

TEST_CASE("cuda loading: a relative driver path is refused, not guessed at") {
  CHECK_SAYS(tell("", {"open"}, {{"WEIR_CUDA_DRIVER", "libcuda.so.1"}}), "open: invalid_environment");
}

TEST_CASE("cuda loading: a file that is no driver") {
  const Outcome o = tell("", {"open"}, {{"WEIR_CUDA_DRIVER", WEIR_TEST_NO_DRIVER}});
  CHECK_SAYS(o, "open: driver_too_old");
  CHECK_SAYS(o, "the library lacks cuInit");
}

TEST_CASE("cuda loading: a driver from before CUDA 12 says so") {
  const Outcome o = tell("", {"info"}, {{"WEIR_CUDA_DRIVER", WEIR_TEST_OLD_CUDA}});
  CHECK_SAYS(o, "state: driver_too_old");
  CHECK_SAYS(o, "the library lacks cuGetProcAddress_v2 (the driver is for CUDA 11.8)");
  CHECK_SAYS(o, "needs a driver for CUDA 12.0 or later");
}

TEST_CASE("cuda loading: a missing required function is named, all of them at once") {
  const Outcome o = tell("missing=cuGraphLaunch missing=cuStreamQuery", {"info"});
  CHECK_SAYS(o, "state: driver_too_old");
  CHECK_SAYS(o, "the driver lacks cuStreamQuery of 2.0, cuGraphLaunch of 10.0");
}

TEST_CASE("cuda loading: without an optional function its feature is absent, and the reason names the release") {
  const Outcome o = tell("missing=cuStreamGetId missing=cuGraphConditionalHandleCreate", {"features"});
  CHECK_SAYS(o, "feature stream_id: absent cuStreamGetId is not in the driver (CUDA 13.0); CUDA 12.0 has it");
  CHECK_SAYS(o,
             "feature graph_conditional_nodes: absent cuGraphConditionalHandleCreate is not in the driver (CUDA 13.0); CUDA "
             "12.3 has it");
  CHECK_SAYS(o, "feature graph_capture: native");
  CHECK_SAYS(o, "feature wait_value_flush: absent this device lacks it: CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES is 0");
  CHECK_SAYS(o, "feature runtime_compilation: absent no NVRTC: /nonexistent/libnvrtc.so");
}

TEST_CASE("cuda loading: the oldest supported driver lacks only later features") {
  const Outcome o = tell("version=12000", {"features", "stream", "synchronize"});
  CHECK_SAYS(o, "feature stream_id: native");
  CHECK_SAYS(o, "feature graph_update: native");
  CHECK_SAYS(
      o,
      "feature capture_into_graph: absent cuStreamBeginCaptureToGraph is not in the driver (CUDA 12.0); CUDA 12.3 has it");
  CHECK_SAYS(o, "synchronize: ok");
}

TEST_CASE("cuda loading: a driver without a device") {
  const Outcome counted = tell("devices=0", {"info"});
  CHECK_SAYS(counted, "state: no_device");
  const Outcome refused = tell("fail=cuInit:0:100", {"info"}, {{"CUDA_VISIBLE_DEVICES", ""}});
  CHECK_SAYS(refused, "state: no_device");
  CHECK_SAYS(refused, "CUDA_VISIBLE_DEVICES is set and may hide all devices");
}

TEST_CASE("cuda loading: a driver that does not start, with its code and what helps") {
  const Outcome o = tell("fail=cuInit:0:803", {"info", "open"});
  CHECK_SAYS(o, "state: driver_failed");
  CHECK_SAYS(o, "error 803");
  CHECK_SAYS(o, "different versions; restart the machine");
  CHECK_SAYS(o, "open: driver_failed | CUDA_ERROR_SCRIPTED");
}

// --- Kernels that were compiled ahead of time -------------------------------------------------------------------------

TEST_CASE("cuda bundles: the image that fits best is loaded, and what the driver refuses is passed over") {
  const auto load = [](const std::string& script, const std::string& images) {
    return tell("trace=1 " + script, {"load-bundle"}, {{"WEIR_TEST_IMAGES", images}, {"WEIR_LOG", "info"}});
  };
  const auto image_calls = [](const Outcome& o) { return weir::test::count("call image", o.errors); };
  const Outcome exact = load("capability=90", "hip gfx90a,cuda sm_80,cuda compute_80,cuda sm_90,host x86-64,source");
  CHECK_SAYS(exact, "load-bundle: ok");
  CHECK(exact.complains("call image \"for cuda sm_90\""));
  CHECK(image_calls(exact) == 1);
  CHECK(
      load("capability=89", "cuda sm_80,cuda sm_86,cuda compute_80,cuda sm_90").complains("call image \"for cuda sm_86\""));
  const Outcome newer = load("capability=100", "cuda sm_80,cuda compute_80,cuda compute_90,cuda sm_90");
  CHECK(newer.complains("call image \"for cuda compute_90\""));

  // As an older driver refuses code of a newer compiler.
  const Outcome passed = load("capability=90 fail=cuModuleLoadDataEx:1:222", "cuda sm_90,cuda compute_80,cuda compute_90");
  CHECK_SAYS(passed, "load-bundle: ok");
  CHECK(passed.complains("call image \"for cuda compute_90\""));
}

TEST_CASE("cuda bundles: where nothing fits, the error says what there is and what the device is") {
  const auto load = [](const std::string& script, const std::string& images) {
    return tell(script, {"load-bundle"}, {{"WEIR_TEST_IMAGES", images}});
  };
  const Outcome none = load("capability=75", "cuda sm_80,cuda compute_80,host x86-64");
  CHECK_SAYS(none, "load-bundle: invalid_image");
  CHECK_SAYS(
      none,
      "no image of the kernels 'story.cu' fits: the bundle has cuda sm_80, cuda compute_80, host x86-64, but this device is "
      "cuda sm_75; the bundle does not contain the source; add an image for this device in weir_add_kernels");
  const Outcome refused = load("capability=80 fail=cuModuleLoadDataEx:0:218", "cuda sm_80,cuda compute_80,source");
  CHECK_SAYS(refused, "the image for sm_80 cannot be loaded: ");
  CHECK_SAYS(refused, "the image for compute_80 cannot be loaded: ");
  CHECK_SAYS(refused, "their source cannot be compiled here: no NVRTC: /nonexistent/libnvrtc.so");
  // Memory that runs out says nothing about the image.
  CHECK_SAYS(load("capability=80 fail=cuModuleLoadDataEx:1:2", "cuda sm_80,cuda compute_80"), "load-bundle: out_of_memory");
}

// --- Calls that fail --------------------------------------------------------------------------------------------------

TEST_CASE("cuda calls: a stream whose capture cannot be asked for gives an error") {
  // As after a device fault: each question fails with it, also those that an error message would like to have answered.
  const Outcome o = tell("fail=cuStreamGetCaptureInfo:0:700 fail=cuStreamIsCapturing:0:700 fail=cuStreamSynchronize:0:700",
                         {"stream", "native-handle", "synchronize", "query", "describe"});
  CHECK_SAYS(o, "synchronize: device_fault | CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK_SAYS(o, "query: device_fault | CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK_SAYS(o, "describe: ok");
}

TEST_CASE("cuda calls: a handle that was wrapped before is wrapped with two questions to the driver") {
  const Outcome o = tell("trace=1", {"wrap", "drop-stream", "mark", "wrap", "mark", "synchronize"});
  INFO(o.errors);
  CHECK(weir::test::count("call ", between_marks(o).errors) == 2);
  CHECK_SAYS(o, "synchronize: ok");
}

TEST_CASE("cuda calls: each operation of a stream that external code may know asks the driver at most once") {
  for (const std::string step : {"record", "wait", "fill", "query", "synchronize", "host-function"}) {
    CAPTURE(step);
    const Outcome own = tell("trace=1", {"stream", "event", "allocate", "record", step, "mark", step, "mark"});
    const Outcome borrowed = tell("trace=1", {"wrap", "event", "allocate", "record", step, "mark", step, "mark"});
    INFO(borrowed.errors);
    const int calls_of_own = weir::test::count("call ", between_marks(own).errors);
    CHECK(calls_of_own >= 1);
    CHECK(weir::test::count("call ", between_marks(borrowed).errors) <= calls_of_own + 1);
  }
}

TEST_CASE("cuda calls: nothing that Weir makes, frees or ends breaks a capture that external code has open") {
  const std::vector<std::string> steps = {
      "stream",    "allocate", "pinned",      "register",   "module",     "kernel", "drop-kernel", "pool",
      "drop-pool", "graph",    "instantiate", "drop-graph", "long-batch", "async",  "drop-memory", "drop-stream"};
  const Outcome o = tell("guarded=1", steps);
  INFO(o.output, o.errors);
  CHECK(o.count(": ok\n") == static_cast<int>(steps.size()));
  CHECK_FALSE(o.complains("weir error"));
}

TEST_CASE("cuda calls: a host function belongs to the graph that external code captures on the thread's default stream") {
  const Outcome o = tell("", {"per-thread", "begin-natively", "host-function", "end-natively-and-launch-twice", "ran"});
  CHECK_SAYS(o, "ran: 2\n");
}

// --- Ends -------------------------------------------------------------------------------------------------------------

TEST_CASE("cuda ends: objects that outlive the driver are destroyed silently") {
  const Outcome o = tell("", {"stream", "event", "allocate", "module", "kernel", "pool", "graph", "instantiate",
                              "keep-to-the-end", "driver-shuts-down"});
  INFO(o.errors);
  CHECK(o.count(": ok\n") == 10);
  CHECK_FALSE(o.complains("weir error"));
}

TEST_CASE("cuda ends: after external code resets the device, calls throw and destructors log") {
  const Outcome o = tell("", {"stream", "event", "allocate", "module", "kernel", "pool", "context-goes", "event-synchronize",
                              "stream", "launch", "drop-memory"});
  CHECK_SAYS(o, "stream: backend_failure | CUDA_ERROR_SCRIPTED");
  CHECK_SAYS(o, "launch: backend_failure");
  CHECK_SAYS(o, "the device's context was destroyed, for example by cudaDeviceReset");
  CHECK_SAYS(o, "drop-memory: ok");
  INFO(o.errors);
  CHECK(o.complains("while a module was unloaded"));
  CHECK(o.complains("while a memory pool was destroyed"));
  const Outcome destroyed = tell("", {"stream", "context-goes-709", "query", "drop-stream"});
  CHECK_SAYS(destroyed, "query: backend_failure");
  CHECK_SAYS(destroyed, "the device's context was destroyed, for example by cudaDeviceReset");
  CHECK(destroyed.complains("while a stream was destroyed"));
}

TEST_CASE("cuda ends: what the driver has made is given back if there is no memory for Weir's object") {
  const Outcome o = tell("", {"stream", "memory-runs-out"});
  CHECK_SAYS(o, "memory-runs-out: ok");
  CHECK(o.count(" left 0\n") == 9);
}

TEST_CASE("cuda graphs: a condition that a graph has got also has its node and its body, or breaks the capture") {
  const Outcome o = tell("trace=1", {"stream", "allocate", "memory-runs-out-in-a-condition"});
  CHECK_SAYS(o, "memory-runs-out-in-a-condition: ok");
  const int conditions = calls(o, "cuGraphConditionalHandleCreate");
  CHECK(conditions > 1);
  CHECK(calls(o, "cuGraphAddNode") == conditions);
  CHECK(calls(o, "cuStreamBeginCaptureToGraph") + calls(o, "cuStreamQuery") == conditions);  // the latter breaks it
  for (const std::string call : {"cuLaunchKernel", "cuGraphAddNode", "cuStreamBeginCaptureToGraph"}) {
    CAPTURE(call);
    const Outcome refused = tell("trace=1 fail=" + call + ":1:2", {"stream", "allocate", "begin-capture", "condition"});
    CHECK_SAYS(refused, "condition: out_of_memory | CUDA_ERROR_SCRIPTED | Stream::capture_if");
    CHECK(in_order(refused, {"cuGraphConditionalHandleCreate", call, "cuStreamQuery"}));  // which breaks it
  }
}

TEST_CASE("cuda graphs: a condition whose body's capture was invalidated makes the graph unusable, and nothing crashes") {
  const std::string lost = "end-capture: capture_invalidated";
  for (const std::string how :
       {"broken-body", "broken-body-in-a-loop", "throwing-loop-in-a-body", "broken-bodies-of-a-broken-body"}) {
    CAPTURE(how);
    const Outcome o = tell("trace=1", {"stream", "allocate", "begin-capture", how, "end-capture", "graph", "instantiate"});
    INFO(o.output, o.errors);
    CHECK_SAYS(o,
               how == "throwing-loop-in-a-body" ? how + ": exception | thrown in the body" : how + ": capture_invalidated");
    CHECK_SAYS(o, lost);
    CHECK_SAYS(o, "instantiate: ok");
    CHECK(calls(o, "cuGraphDestroy") == 1);  // the graph of the capture is leaked
    for (const std::string end : {"close", "drop-stream"}) {
      const Outcome dropped = tell("trace=1", {"stream", "allocate", "begin-capture", how, end});
      INFO(dropped.output, dropped.errors);
      CHECK_SAYS(dropped, end + ": ok");
      CHECK(in_order(dropped, {"cuStreamEndCapture", "cuStreamDestroy"}));
    }
    // Ended behind an outer capture that fails, the body's would crash: it stays open.
    const Outcome both = tell("trace=1", {"stream", "allocate", "begin-capture", how, "break-capture", "end-capture"});
    INFO(both.output, both.errors);
    CHECK_SAYS(both, lost);
    CHECK(calls(both, "cuStreamEndCapture") == (how.find("loop") != std::string::npos ? 2 : 1));
  }
}

TEST_CASE("cuda graphs: all work of a body that is not joined becomes joined before its end, which the driver survives") {
  const Outcome o = tell("trace=1", {"stream", "allocate", "graph", "begin-capture", "unjoined-body", "end-capture"});
  INFO(o.output, o.errors);
  CHECK_SAYS(o, "unjoined-body: capture_unjoined");
  CHECK_SAYS(o, "end-capture: ok");
  CHECK(in_order(o, {"cuGraphAddChildGraphNode", "cuStreamUpdateCaptureDependencies", "cuGraphGetEdges",
                     "cuStreamUpdateCaptureDependencies", "cuStreamEndCapture", "cuStreamEndCapture"}));
}

TEST_CASE("cuda graphs: a copy from pageable memory behind a captured host function is refused, and else made") {
  const std::string pageable = "trace=1 fail=cuPointerGetAttribute:0:1";
  const Outcome o =
      tell(pageable, {"stream", "allocate", "begin-capture", "pageable-copy", "host-function", "pageable-copy"});
  INFO(o.output, o.errors);
  CHECK_SAYS(o, "pageable-copy: ok");
  CHECK_SAYS(o, "pageable-copy: capture_unsupported");
  CHECK(calls(o, "cuMemcpyAsync") == 1);
  const Outcome pinned =
      tell("trace=1", {"stream", "allocate", "begin-capture", "pageable-copy", "host-function", "pageable-copy"});
  CHECK(calls(pinned, "cuMemcpyAsync") == 2);
}

TEST_CASE("cuda calls: beside a capture of other code, waits, queries and stream-ordered allocations are made relaxed") {
  const Outcome o = tell("guarded=1", {"stream", "event", "synchronize", "query", "async", "event-synchronize"});
  INFO(o.output, o.errors);
  CHECK(o.count(": ok\n") == 6);
}

TEST_CASE(
    "cuda ends: a memory pool is trimmed and used again once an event behind the last free of its memory is complete") {
  for (const std::string last : {"drop-pool", "drop-async"}) {
    const std::string first = last == "drop-pool" ? "drop-async" : "drop-pool";
    const std::vector<std::string> steps{"stream", "pool", "pool-async", first, last, "synchronize"};
    const Outcome over = tell("trace=1", steps);
    CHECK(in_order(over, {"cuMemFreeAsync", "cuEventRecord", "cuEventQuery", "cuMemPoolTrimTo"}));
    CHECK(calls(over, "cuMemPoolDestroy") == 0);
    CHECK(calls(tell("trace=1 fail=cuEventQuery:0:600", steps), "cuMemPoolTrimTo") == 0);
  }
  CHECK(calls(tell("trace=1", {"stream", "pool", "drop-pool"}), "cuMemPoolDestroy") == 1);  // nothing was ever freed
  // Nobody can tell when the free is over.
  const std::vector<std::string> steps{"stream", "pool", "pool-async", "drop-async", "drop-pool"};
  const Outcome unknown = tell("trace=1 fail=cuEventRecord:1:2", steps);
  CHECK(unknown.complains("a memory pool is leaked, because the end of a free could not be recorded"));
  CHECK(calls(unknown, "cuMemPoolDestroy") == 0);
}

TEST_CASE("cuda ends: of memory pools that wait for frees there are only so many, then one is used again as it is") {
  std::vector<std::string> steps{"stream"};
  for (int i = 0; i < 100; ++i) steps.insert(steps.end(), {"pool", "pool-async", "drop-async", "drop-pool"});
  const Outcome many = tell("trace=1 fail=cuEventQuery:0:600", steps);  // no free ends
  CHECK(many.count("pool: ok\n") == 200);
  CHECK(calls(many, "cuMemPoolCreate") == 65);
  CHECK(calls(many, "cuMemPoolDestroy") == 0);
  // Fewer, where the driver makes no more.
  const Outcome full = tell("trace=1 fail=cuEventQuery:0:600 fail=cuMemPoolCreate:2:2",
                            {"stream", "pool", "pool-async", "drop-async", "drop-pool", "pool", "pool-async"});
  CHECK_SAYS(full, "drop-pool: ok\npool: ok\npool-async: ok\n");
  CHECK(calls(full, "cuMemPoolCreate") == 2);
  CHECK_SAYS(tell("fail=cuMemPoolCreate:1:2", {"pool"}), "pool: out_of_memory");
}

TEST_CASE("cuda ends: a memory pool that cannot be opened to a peer is destroyed") {
  const Outcome o = tell("devices=2 peers=1 trace=1 fail=cuMemPoolSetAccess:2:2", {"let-peer-in", "pool"});
  CHECK_SAYS(o, "let-peer-in: ok");
  CHECK_SAYS(o, "pool: out_of_memory");
  INFO(o.errors);
  CHECK(calls(o, "cuMemPoolDestroy") == 1);
}

// --- Events -----------------------------------------------------------------------------------------------------------

TEST_CASE(
    "cuda events: one that a capture recorded is recorded outside it by another native event, and both live as long as it") {
  const Outcome o = tell("trace=1", {"stream", "second", "event", "begin-capture", "record", "mark", "second-record",
                                     "second-wait", "mark", "end-capture", "drop-event", "event"});
  INFO(o.errors);
  CHECK(o.count(": ok\n") == 12);
  CHECK(calls(between_marks(o), "cuEventRecord") == 1);
  CHECK(calls(between_marks(o), "cuEventDestroy") == 0);
  // The one for captures goes with the event; the other one serves the next.
  CHECK(calls(since(o, "cuStreamEndCapture"), "cuEventDestroy") == 1);
  CHECK(calls(since(o, "cuStreamEndCapture"), "cuEventCreate") == 0);
}

TEST_CASE("cuda captures: a stream that was in one which external code ended may be gone when Weir notices") {
  // Under a sanitizer, which sees a use of the second stream.
  const Outcome o = tell("", {"stream", "second", "second-native-handle", "begin-relaxed", "second-waits", "end-natively",
                              "second-begin", "second-end", "drop-second", "end-capture", "begin-capture", "end-capture"});
  CHECK_SAYS(o, "second-end: ok\ndrop-second: ok\nend-capture: not_capturing");
  CHECK_SAYS(o, "begin-capture: ok\nend-capture: ok\n");
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

TEST_CASE("cuda graphs: memory that a launch left is freed behind it, when the executable ends") {
  const Outcome o =
      tell("trace=1", {"stream", "graph-that-leaves-memory", "instantiate", "launch-graph", "mark", "drop-graph", "mark"});
  INFO(o.errors);
  CHECK(in_order(between_marks(o), {"cuStreamCreateWithPriority", "cuStreamWaitEvent", "cuMemFreeAsync", "cuStreamDestroy",
                                    "cuGraphExecDestroy"}));
  const Outcome never = tell("trace=1", {"stream", "graph-that-leaves-memory", "instantiate", "mark", "drop-graph", "mark"});
  CHECK(calls(between_marks(never), "cuMemFreeAsync") == 0);
  CHECK(calls(between_marks(never), "cuGraphExecDestroy") == 1);
}

TEST_CASE("cuda graphs: a graph is not added to the capture that continues it, and the capture goes on") {
  const Outcome o =
      tell("", {"stream", "graph", "resume", "add-to-itself", "add-captured", "host-function", "end-capture", "node-count"});
  CHECK_SAYS(o, "add-to-itself: capture_unsupported");
  CHECK_SAYS(o, "a capture continues cuda:0 graph");
  CHECK_SAYS(o, "add-captured: capture_unsupported");
  CHECK_SAYS(o, "this is the graph that is being captured");
  CHECK_SAYS(o, "nodes: 2\n");
}

TEST_CASE("cuda graphs: a second executable of a graph with a condition is refused with the reason") {
  const Outcome o = tell("fail=cuGraphInstantiateWithFlags:2:801",
                         {"stream", "allocate", "graph-with-a-condition", "instantiate", "instantiate"});
  CHECK_SAYS(o, "graph-with-a-condition: ok\ninstantiate: ok\n");
  CHECK_SAYS(o, "instantiate: unsupported");
  CHECK_SAYS(o, "one executable at a time of a graph with conditional nodes; release the other one");
}

TEST_CASE("cuda graphs: a capture is asked with room for the data of its edges, which other code may have added") {
  CHECK_SAYS(tell("lossy=1", {"stream", "graph", "parent-graph"}), "parent-graph: ok");
  const Outcome old = tell("lossy=1 version=12020", {"stream", "graph", "parent-graph"});
  CHECK_SAYS(old, "parent-graph: unsupported");
  CHECK_SAYS(old, "programmatic edges");
}

// --- Contexts and devices -----------------------------------------------------------------------------------------------

TEST_CASE("cuda captures: a host function whose capture the driver fails to tell is destroyed") {
  // The second question is for the graph under construction.
  const Outcome o = tell("fail=cuStreamGetCaptureInfo:2:999", {"stream", "begin-capture", "host-function-that-owns"});
  CHECK_SAYS(o, "refused: ");
  CHECK_SAYS(o, "owners: 1");
  CHECK_SAYS(tell("", {"stream", "begin-capture", "host-function-that-owns"}), "owners: 2");
}

TEST_CASE("cuda contexts: a stream of another context is refused, with the reason") {
  CHECK_SAYS(tell("", {"wrap"}), "wrap: ok");
  const Outcome o = tell("contexts=1", {"wrap"});
  CHECK_SAYS(o, "wrap: invalid_argument");
  CHECK_SAYS(o, "a stream of another context than the device's primary one");
  const Outcome elsewhere = tell("devices=2", {"wrap"}, {{"WEIR_DEVICE", "1"}});
  CHECK_SAYS(elsewhere, "wrap: wrong_device");
  CHECK_SAYS(elsewhere, "a stream of cuda:0; wrap it on that device");
}

TEST_CASE("cuda contexts: calls on streams and events use no current context if the driver needs none") {
  const auto pushes = [](const std::string& script) {
    const Outcome o = tell("trace=1 " + script,
                           {"stream", "event", "mark", "record", "query", "synchronize", "event-synchronize", "mark"});
    INFO(o.output, o.errors);
    CHECK(o.count(": ok\n") == 8);
    return calls(between_marks(o), "cuCtxPushCurrent");
  };
  CHECK(pushes("version=13000") == 0);
  CHECK(pushes("version=13000 strict=1") == 4);
  CHECK(pushes("version=12000 strict=1") == 4);
}

TEST_CASE("cuda devices: Weir does not disable peer access that external code has enabled") {
  const std::vector<std::string> steps = {"peer-on", "peer-on", "peer-off", "peer-off"};
  const Outcome own = tell("devices=2 peers=1 trace=1", steps);
  CHECK(own.count(": ok\n") == 4);
  CHECK(calls(own, "cuCtxDisablePeerAccess") == 1);
  const Outcome shared = tell("devices=2 peers=1 peer_enabled=1 trace=1", steps);
  CHECK(shared.count(": ok\n") == 4);
  CHECK(calls(shared, "cuCtxDisablePeerAccess") == 0);
}

TEST_CASE("cuda devices: a part of a divided GPU has the uuid that nvidia-smi prints") {
  CHECK_SAYS(tell("", {"properties"}), "uuid: GPU-11111111-1111-1111-1111-111111111111\n");
  CHECK_SAYS(tell("instance=1", {"properties"}), "uuid: MIG-22222222-2222-2222-2222-222222222222\n");
}

TEST_CASE("cuda devices: under MPS there are no partitions, and the reason says what divides the device there") {
  CHECK_SAYS(tell("", {"features"}), "feature partitions: native");
  CHECK_SAYS(tell("mps=1", {"features"}), "feature partitions: absent under MPS the driver also runs");
}

// --- Errors -----------------------------------------------------------------------------------------------------------

TEST_CASE("cuda errors: each code that a program can meet says what happened, and the driver's own sentence once") {
  const std::map<int, std::string> known = {{1, "invalid_argument"},  {2, "out_of_memory"},
                                            {400, "backend_failure"}, {700, "device_fault"},
                                            {719, "device_fault"},    {800, "called_from_host_function"}};
  for (const int code : {1,   2,   34,  102, 201, 223, 224, 225, 226, 400, 402, 700, 709, 711,
                         719, 721, 800, 805, 806, 807, 808, 809, 810, 911, 912, 915, 917, 918}) {
    CAPTURE(code);
    const Outcome o = tell("fail=cuStreamQuery:1:" + std::to_string(code), {"stream", "query"});
    INFO(o.output);
    CHECK_FALSE(o.says("the driver reported an error"));
    CHECK(o.count("a scripted failure") == 1);
    if (const auto errc = known.find(code); errc != known.end()) CHECK(o.says("query: " + errc->second + " | CUDA_ERROR_"));
  }
  CHECK_SAYS(tell("fail=cuStreamQuery:1:998", {"stream", "query"}),
             "the driver reported an error [CUDA_ERROR_SCRIPTED (998): a scripted failure]");
  CHECK_SAYS(tell("fail=cuModuleLoadDataEx:1:209", {"load"}), "load: invalid_image");
  const Outcome o = tell("fail=cuModuleGetFunction:1:2", {"module", "kernel"});
  CHECK_SAYS(o, "kernel: out_of_memory | CUDA_ERROR_SCRIPTED");
  CHECK_SAYS(o, "kernel 'a_kernel': memory is exhausted");
}

// --- Compiling --------------------------------------------------------------------------------------------------------

TEST_CASE("cuda compiling: <cstddef> and <cstdint> have what kernels for all backends use, where there is an NVRTC") {
  const char* const source = R"(
#include <cstddef>
#include <cstdint>
#include <stddef.h>
#include <stdint.h>
struct Pair { int first, second; };
static_assert(offsetof(Pair, second) == 4 && alignof(std::max_align_t) >= 8);
static_assert(INT32_MAX == 2147483647 && UINT64_MAX == ~UINT64_C(0) && INT8_MIN == -128 && SIZE_MAX == ~std::size_t{0});
static_assert(sizeof(std::intmax_t) == 8 && sizeof(std::uint_fast32_t) >= 4 && sizeof(int_least16_t) == 2);
extern "C" __global__ void k(int* p, std::byte* q) {
  std::nullptr_t none = nullptr;
  int* const nowhere = NULL;
  if (p == none || p == nowhere) return;
  q[threadIdx.x] = (q[threadIdx.x] << 1) | std::byte{1};
  p[threadIdx.x] = std::to_integer<int>(q[threadIdx.x]);
})";
  const Outcome o = weir::test::run(WEIR_TEST_STORY, {"features", "compile"},
                                    {{"WEIR_BACKEND", "cuda"},
                                     {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA},
                                     {"WEIR_TEST_DRIVER", ""},
                                     {"WEIR_TEST_SOURCE", source}});
  if (!o.says("feature runtime_compilation: native")) {
    MESSAGE("there is no NVRTC on this machine");
    return;
  }
  CHECK_SAYS(o, "compile: ok");
}

namespace {

/// Compiles with the real NVRTC, in a folder of its own for the cache, and does `steps` with the module.
class Compiling {
 public:
  std::filesystem::path folder() const { return folder_.path(); }
  Outcome run(const std::string& source, std::vector<std::string> steps, Environment more = {},
              const std::string& script = "") const {
    steps.insert(steps.begin(), {"features", "compile"});
    Environment environment = {{"WEIR_BACKEND", "cuda"},
                               {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA},
                               {"WEIR_TEST_DRIVER", "missing=cuFuncGetParamInfo " + script},
                               {"WEIR_TEST_SOURCE", source},
                               {"WEIR_CACHE_DIR", folder() / "cache"},
                               {"WEIR_LOG", "info"}};
    environment.insert(more.begin(), more.end());
    return weir::test::run(WEIR_TEST_STORY, steps, environment);
  }
  bool has_compiler() const {
    const bool has = run("", {}).says("feature runtime_compilation: native");
    if (!has) MESSAGE("there is no NVRTC on this machine");
    return has;
  }

 private:
  const weir::test::TemporaryFolder folder_;
};

constexpr const char* many_kernels = R"(
using Real = float;
template <class T, int N>
__global__ void blur(const T* in, T* out, T scale) {
  out[threadIdx.x] = in[threadIdx.x] * N * scale;
}
template __global__ void blur<double, 4>(const double*, double*, double);
namespace image { __global__ void flip(float* p, int n, float by) { p[threadIdx.x] = n * by; } }
__global__ void over(int* p) { *p = 1; }
__global__ void over(float* p) { *p = 1; }
extern "C" __global__ void __launch_bounds__(128) plain(int n, const float x[], double d, size_t s, float f = 1.0F) {
  ((float*)x)[n] = d * s * f;
}
)";

}  // namespace

TEST_CASE(
    "cuda compiling: kernels of C++ linkage and instances of templates are found by their names, where there is an NVRTC") {
  const Compiling compiling;
  if (!compiling.has_compiler()) return;
  const Outcome o = compiling.run(
      many_kernels,
      {"kernel:blur<float, 3>", "kernel:blur<float,3>", "kernel:blur<unsigned int, 2u>", "kernel:blur<double, 4>",
       "kernel:image::flip", "kernel:::image::flip", "kernel:plain", "kernel:over", "kernel:blur<short, 1>"},
      {{"WEIR_TEST_KERNELS", "blur<float,3>;blur<unsigned, 2>"}});
  CHECK_SAYS(o, "compile: ok");
  CHECK_SAYS(o, "kernel blur<float, 3>: kinds iif");
  CHECK_SAYS(o, "kernel blur<float,3>: kinds iif");
  CHECK_SAYS(o, "kernel blur<unsigned int, 2u>: kinds iii");
  CHECK_SAYS(o, "kernel blur<double, 4>: kinds iif");
  CHECK_SAYS(o, "kernel image::flip: kinds iif");
  CHECK_SAYS(o, "kernel ::image::flip: kinds iif");
  CHECK_SAYS(o, "kernel plain: kinds unknown");
  CHECK_SAYS(o, "kernel:over: kernel_not_found");
  CHECK_SAYS(o, "'over' is the name of several kernels: over(");
  CHECK_SAYS(o, "kernel:blur<short, 1>: kernel_not_found");
  CHECK_SAYS(o, "image::flip(float*, int, float)");
  CHECK_SAYS(o, "CompileOptions::kernels, or behind KERNELS in weir_add_kernels");
}

TEST_CASE(
    "cuda compiling: a driver before 12.4 does not list kernels, and those that were asked for are found all the same") {
  const Compiling compiling;
  if (!compiling.has_compiler()) return;
  const Outcome o = compiling.run(many_kernels, {"kernel:blur<float, 3>", "kernel:image::flip", "kernel:plain"},
                                  {{"WEIR_TEST_KERNELS", "blur<float, 3>"}}, "missing=cuModuleGetFunctionCount");
  CHECK_SAYS(o, "kernel blur<float, 3>: kinds iif");
  CHECK_SAYS(o, "kernel plain: kinds unknown");
  CHECK_SAYS(o, "kernel:image::flip: kernel_not_found");
  // An image that was made ahead of time carries the names.
  const Outcome ahead =
      compiling.run(many_kernels, {"compile-ahead", "kernel:blur<float, 3>", "kernel:blur<Real, 3>"},
                    {{"WEIR_TEST_KERNELS", "blur<float, 3>;blur<Real, 3>"}}, "missing=cuModuleGetFunctionCount");
  CHECK_SAYS(ahead, "compile-ahead: ok");
  CHECK_SAYS(ahead, "kernel blur<float, 3>: kinds iif");
  CHECK_SAYS(ahead, "kernel blur<Real, 3>: kinds iif");
}

TEST_CASE("cuda compiling: an instance that cannot be made is an error of the compiler's") {
  const Compiling compiling;
  if (!compiling.has_compiler()) return;
  const Outcome o = compiling.run(many_kernels, {}, {{"WEIR_TEST_KERNELS", "nothing<float>"}});
  CHECK_SAYS(o, "compile: compilation_failed");
  CHECK_SAYS(o, "nothing");
  CHECK_SAYS(compiling.run(many_kernels, {}, {{"WEIR_TEST_KERNELS", " "}}), "compile: invalid_argument");
}

TEST_CASE("cuda compiling: what was compiled comes from the cache, until anything changes that it depends on") {
  const Compiling compiling;
  if (!compiling.has_compiler()) return;
  const auto header = [&](const std::string& name, const std::string& text) {
    std::ofstream(compiling.folder() / name) << text;
  };
  const std::string source =
      "#include \"one.h\"\nextern \"C\" __global__ void k(int* p) { *p = VALUE; }\n"
      "template <class T> __global__ void t(T* p) { *p = 1; }\n";
  const Environment environment = {{"WEIR_TEST_INCLUDE", compiling.folder()}, {"WEIR_TEST_KERNELS", "t<float>"}};
  const auto comes_from_cache = [&](const std::string& text, const Environment& with) {
    const Outcome o = compiling.run(text, {"kernel:k", "kernel:t<float>"}, with);
    CHECK_SAYS(o, "compile: ok");
    CHECK_SAYS(o, "kernel k: kinds unknown");
    CHECK_SAYS(o, "kernel t<float>: kinds i");
    return o.errors.find("comes from the cache") != std::string::npos;
  };
  header("one.h", "#include \"two.h\"\n#ifdef NEVER\n#include <never.h>\n#endif\n");
  header("two.h", "#define VALUE 1\n");
  CHECK_FALSE(comes_from_cache(source, environment));
  CHECK(comes_from_cache(source, environment));
  CHECK_FALSE(comes_from_cache(source + "\n", environment));
  header("two.h", "#define VALUE 2\n");
  CHECK_FALSE(comes_from_cache(source, environment));
  CHECK(comes_from_cache(source, environment));
  header("never.h", "");
  CHECK_FALSE(comes_from_cache(source, environment));
  Environment more = environment;
  more["WEIR_TEST_KERNELS"] = "t<float>;t<int>";
  CHECK_FALSE(comes_from_cache(source, more));
  CHECK(comes_from_cache(source, environment));
  // One that is cut short is compiled again.
  for (const auto& entry : std::filesystem::directory_iterator(compiling.folder() / "cache/cuda")) {
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) - 1);
  }
  CHECK_FALSE(comes_from_cache(source, environment));
  CHECK(comes_from_cache(source, environment));
  const std::string with_date = source + "extern \"C\" __constant__ char date[] = __DATE__;\n";
  CHECK_FALSE(comes_from_cache(with_date, environment));
  CHECK_FALSE(comes_from_cache(with_date, environment));
}

TEST_CASE("cuda kernels: the suggested size of a block is the driver's, for the shared memory that a block needs") {
  // The second size needs more than every block has, which is allowed with the kernel's context current.
  CHECK_SAYS(tell("", {"module", "kernel", "suggest"}), "suggested: 256 and 128");
  CHECK_SAYS(tell("fail=cuOccupancyMaxPotentialBlockSize:1:1", {"module", "kernel", "suggest"}),
             "suggest: invalid_argument");
}
