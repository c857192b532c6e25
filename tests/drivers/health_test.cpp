// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/drivers/trace.hpp"
#include "tests/unit/check_says.hpp"
#include "tests/unit/subprocess.hpp"

// Tests poisoned devices, waits with a deadline and reports of pending work, with stand-ins for both vendors' drivers. Code
// 700 is an illegal address in both.

using weir::test::Environment;
using weir::test::Outcome;

namespace {

struct Vendor {
  std::string name, prefix;  // of its functions
  std::string library;
  std::string memory_info;
  std::string event_question;  // by which Weir asks whether an event is complete
};

const std::vector<Vendor>& vendors() {
  static const std::vector<Vendor> all = {
#ifdef WEIR_TEST_FAKE_CUDA
      {"cuda", "cu", WEIR_TEST_FAKE_CUDA, "cuMemGetInfo", "EventQuery"},
#endif
#ifdef WEIR_TEST_FAKE_HIP
      {"hip", "hip", WEIR_TEST_FAKE_HIP, "hipMemGetInfo", "EventElapsedTime"},
#endif
  };
  return all;
}

Outcome tell(const Vendor& vendor, const std::string& script, const std::vector<std::string>& steps,
             Environment environment = {}) {
  environment["WEIR_BACKEND"] = vendor.name;
  environment[vendor.name == "cuda" ? "WEIR_CUDA_DRIVER" : "WEIR_HIP_RUNTIME"] = vendor.library;
  return weir::test::run_story(environment, script, steps);
}

/// "fail=cuStreamQuery:0:600"
std::string fail(const Vendor& vendor, const std::string& function, const std::string& calls, int code) {
  return " fail=" + vendor.prefix + function + ":" + calls + ":" + std::to_string(code);
}

}  // namespace

TEST_CASE("health: a fault that the driver goes on to report poisons the device, and every later call has the first error") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    const Outcome o =
        tell(vendor, "",
             {"stream", "event", "allocate", "module", "kernel", "pool", "health", "device-faults", "synchronize", "query",
              "record", "fill", "launch", "complete", "allocate", "pool-use", "health", "describe", "other-backend"});
    CHECK_SAYS(o, "health: ok");
    // HIP's first call in it makes the device current.
    const std::string first = vendor.name == "cuda" ? "Stream::synchronize on cuda:0 stream" : "hipSetDevice on hip:0";
    for (const char* const step : {"query", "record", "fill", "launch", "complete", "allocate", "pool-use"}) {
      CAPTURE(step);
      CHECK_SAYS(o, std::string(step) + ": device_fault");
    }
    INFO(o.output, o.errors);
    CHECK(o.count("the device has been poisoned since " + first) == 7);
    CHECK_SAYS(o, "health: " + first);
    CHECK_SAYS(o, "describe: ok");
    CHECK_SAYS(o, "other-backend: ok");
  }
}

TEST_CASE("health: the driver is not called again for a poisoned device, not even by destructors, which are silent") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    const Outcome o =
        tell(vendor, "trace=1",
             {"stream", "event", "allocate", "keep-async", "module", "kernel", "device-faults", "synchronize", "mark",
              "query", "launch", "drop-kernel", "drop-event", "drop-memory", "drop-async", "drop-stream", "mark"});
    CHECK_SAYS(o, "query: device_fault");
    INFO(o.output, o.errors);
    CHECK(weir::test::count("call ", weir::test::between_marks(o).errors) == 0);
    CHECK_FALSE(o.complains("weir error"));
  }
}

TEST_CASE("health: a fault that the driver does not go on to report poisons nothing") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    const Outcome o =
        tell(vendor, fail(vendor, "StreamSynchronize", "1", 700), {"stream", "synchronize", "synchronize", "health"});
    CHECK_SAYS(o, "synchronize: device_fault");
    CHECK_SAYS(o, "synchronize: ok");
    CHECK_SAYS(o, "health: ok");
  }
}

TEST_CASE("health: only the device that the driver has lost is poisoned") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    // Device 0 is asked first, and is lost; device 1 is not.
    const Outcome o =
        tell(vendor, "devices=2" + fail(vendor, "StreamSynchronize", "1", 700) + fail(vendor, "MemGetInfo", "1", 700),
             {"stream", "synchronize", "query", "second-device", "health", "second-device"});
    CHECK_SAYS(o, "synchronize: device_fault");
    CHECK_SAYS(o, "query: device_fault");
    CHECK_SAYS(o, "poisoned since Stream::synchronize");
    INFO(o.output, o.errors);
    CHECK(o.count("second-device: ok") == 2);
    CHECK_SAYS(o, "health: Stream::synchronize on " + vendor.name + ":0 stream");
  }
}

TEST_CASE("health: asked for, it finds a fault that no call has met, and the suspects are what the journal remembers") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    const Outcome o =
        tell(vendor, fail(vendor, vendor.event_question, "0", 600) + fail(vendor, "StreamQuery", "0", 600),
             {"stream", "allocate", "module", "kernel", "launch", "fill", "pending", "device-faults", "health", "query"},
             {{"WEIR_JOURNAL", "8"}});
    CHECK_SAYS(o, "pending: kernel 'a_kernel', followed by 1 operation");
    CHECK_SAYS(o, "health: Device::health on " + vendor.name + ":0");
    CHECK_SAYS(o, "suspect: " + vendor.name + ":0 stream");
    CHECK_SAYS(o, ": kernel 'a_kernel'");
    CHECK_SAYS(o, ": Stream::fill of 256 bytes");
    CHECK_SAYS(o, "query: device_fault");
  }
}

TEST_CASE("health: without the journal a stream says that it has work, and how to learn which") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    CHECK_SAYS(tell(vendor, fail(vendor, "StreamQuery", "0", 600), {"stream", "pending"}),
               "pending: unknown work; with WEIR_JOURNAL");
    CHECK_SAYS(tell(vendor, "", {"stream", "pending"}), "pending: nothing");
  }
}

TEST_CASE("health: the journal tells waits for streams, events and values, and keeps as many operations as it is told to") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    const std::string busy = fail(vendor, vendor.event_question, "0", 600) + fail(vendor, "StreamQuery", "0", 600);
    const auto pending = [&](std::vector<std::string> steps, const char* length = "4") {
      steps.push_back("pending");
      return tell(vendor, busy, steps, {{"WEIR_JOURNAL", length}, {"WEIR_ENABLE_FEATURES", "wait_value_32,wait_value_64"}});
    };
    CHECK_SAYS(pending({"stream", "second", "waits-for-second"}), "pending: a wait for " + vendor.name + ":0 stream");
    CHECK_SAYS(pending({"stream", "event", "record", "wait"}),
               "pending: a wait for an event of " + vendor.name + ":0 stream");
    CHECK_SAYS(pending({"stream", "allocate", "wait-values"}), "pending: a wait for the value at 0x");
    CHECK_SAYS(pending({"stream", "host-function"}), "pending: a host function");
    CHECK_SAYS(pending({"stream", "keep-async"}), "pending: Stream::allocate_async of 256 bytes");
    CHECK_SAYS(pending({"stream", "upload"}), "pending: GraphExec::upload");
    CHECK_SAYS(pending({"stream", "allocate", "host-function", "fill"}, "1"), "pending: Stream::fill of 256 bytes\n");
  }
}

TEST_CASE("health: a wait with a deadline asks again and again, and gives up") {
  for (const Vendor& vendor : vendors()) {
    CAPTURE(vendor.name);
    const std::string busy = fail(vendor, vendor.event_question, "0", 600) + fail(vendor, "StreamQuery", "0", 600);
    CHECK_SAYS(tell(vendor, busy, {"stream", "synchronize-briefly"}), "done: 0");
    CHECK_SAYS(tell(vendor, busy, {"stream", "event", "record", "event-briefly"}), "done: 0");
    CHECK_SAYS(tell(vendor, "", {"device-briefly"}), "done: 1");
    if (vendor.name == std::string("cuda")) CHECK_SAYS(tell(vendor, busy, {"device-briefly"}), "done: 0");
    const std::string soon = fail(vendor, vendor.event_question, "1-9", 600) + fail(vendor, "StreamQuery", "1", 600);
    CHECK_SAYS(tell(vendor, soon, {"stream", "synchronize-within-a-minute"}), "done: 1");
    const std::string faulty = fail(vendor, vendor.event_question, "1", 700) + fail(vendor, "StreamQuery", "1", 600);
    CHECK_SAYS(tell(vendor, faulty, {"stream", "synchronize-within-a-minute"}),
               "synchronize-within-a-minute: device_fault");
  }
}
