// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run_program.hpp"

// Tests deliberate failures, by WEIR_FAULTS.

namespace {

using weir::test::Environment;
using weir::test::Outcome;

Outcome run_with_faults(const std::string& faults, const std::string& program = "right_halves") {
  return weir::test::run_program(program, {{"WEIR_FAULTS", faults}});
}

#if defined(WEIR_TEST_FAKE_CUDA) || defined(WEIR_TEST_FAKE_HIP)
/// The steps of tests/drivers/story.cpp with a vendor's stand-in.
Outcome tell(Environment environment, const std::string& faults, const std::vector<std::string>& steps) {
  environment["WEIR_FAULTS"] = faults;
  return weir::test::run(WEIR_TEST_STORY, steps, environment);
}
#endif

}  // namespace

TEST_CASE("faults: an operation fails the time that is named, and the program is told which part says so") {
  const Outcome o = run_with_faults("alloc:1=out_of_memory");
  CHECK(o.status == 1);
  CHECK(o.complains("Device::allocate on host:0: it fails because of the WEIR_FAULTS rule 'alloc:1=out_of_memory'"));
  CHECK(o.complains("weir faults: alloc:1=out_of_memory: 1 of 1 failed"));
  const Outcome late = run_with_faults("fill:3=device_fault");
  CHECK(late.status == 0);
  CHECK(late.complains("weir faults: fill:3=device_fault: 0 of 2 failed"));
  CHECK(run_with_faults("fill:2-=device_fault").status == 1);
  CHECK(run_with_faults("any:1=device_fault").status == 1);
  CHECK(run_with_faults("launch:1=device_fault", "right_two_kernels")
            .complains("because of the WEIR_FAULTS rule 'launch:1=device_fault'"));
}

TEST_CASE("faults: compilations, loads and pools fail") {
  for (const auto& [faults, operation] : std::vector<std::pair<std::string, std::string>>{
           {"compile:1=compilation_failed", "Device::compile"},
           {"load_module:1=invalid_image", "Device::load_module"},
           {"create_memory_pool:1=out_of_memory", "Device::create_memory_pool"}}) {
    const Outcome o = run_with_faults(faults, "compiles_and_loads");
    CAPTURE(o.errors);
    CHECK(o.status == 1);
    CHECK(o.complains(operation + " on host:0: it fails because of the WEIR_FAULTS rule '" + faults + "'"));
  }
  CHECK(run_with_faults("load_module:2=invalid_image", "compiles_and_loads").status == 0);
}

TEST_CASE("faults: a sticky device_fault poisons the device, also of a backend that cannot fault") {
  const Outcome lost = run_with_faults("copy:2=device_fault sticky", "copes_with_a_lost_device");
  CAPTURE(lost.errors);
  CHECK(lost.status == 0);
  CHECK(lost.complains("weir faults: copy:2=device_fault sticky: 1 of 2 failed"));
  CHECK(run_with_faults("copy:2=device_fault", "copes_with_a_lost_device").complains("health is said to be good"));
  CHECK(run_with_faults("copy:2=out_of_memory sticky", "copes_with_a_lost_device").status == 1);
}

TEST_CASE("faults: chance is the same with the same seed, and another with another") {
  std::string first;
  bool differs = false;
  for (int seed = 1; seed <= 8; ++seed) {
    const std::string faults = "any:40%=delay 1us;seed=" + std::to_string(seed);
    const std::string line = run_with_faults(faults).errors;
    CHECK(line == run_with_faults(faults).errors);
    const std::string count = line.substr(line.rfind(": "));
    if (first.empty()) first = count;
    differs = differs || count != first;
  }
  CHECK(differs);
  CHECK(run_with_faults("any:0%=out_of_memory").status == 0);
  CHECK(run_with_faults("any:100%=out_of_memory").status == 1);
}

TEST_CASE("faults: a delay holds the caller up, and nothing fails") {
  const auto begin = std::chrono::steady_clock::now();
  const Outcome o = run_with_faults("fill:1=delay 150ms; free=delay 1us");
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(150));
  CHECK(o.status == 0);
  CHECK(o.complains("fill:1=delay 150ms: 1 of 2 delayed"));
}

TEST_CASE("faults: a part that met nothing says why") {
  CHECK(run_with_faults("cuLaunchKernel:3=2")
            .complains("cuLaunchKernel:3=2: 0 of 0 failed: no driver with this function was opened"));
  CHECK(run_with_faults("driver=delay 1us")
            .complains("driver=delay 1us: 0 of 0 delayed: no driver with this function was opened"));
  CHECK(run_with_faults("prefetch=device_fault").complains("prefetch=device_fault: 0 of 0 failed: there was no such call"));
}

TEST_CASE("faults: counts what a program calls") {
  const Outcome o = run_with_faults("count");
  CHECK(o.status == 0);
  CHECK(o.complains("weir faults: fill: called 2 times"));
}

TEST_CASE("faults: a text that does not parse names its part and what may have been meant") {
  for (const auto& [faults, message] : std::vector<std::pair<std::string, std::string>>{
           {"count;alocate:1=out_of_memory", "'alocate:1=out_of_memory': 'alocate' is neither an operation"},
           {"alocate:1=out_of_memory", "did you mean 'allocate'?"},
           {"x=out_of_memory", "operations are kernel, copy, fill, "},
           {"copy=ot_of_memory", "did you mean 'out_of_memory'?"},
           {"copy:0=out_of_memory", "'0' is not a time: write 3 for the third"},
           {"copy:5-3=out_of_memory", "'5-3' is not a time"},
           {"copy:120%=out_of_memory", "'120%' is not a time"},
           {"copy:2", "it has no '='"},
           {"copy:2=", "it has no effect"},
           {"copy=out_of_memory stiky", "'stiky' follows the failure; only 'sticky' may"},
           {"fill=delay 5", "'5' is not a duration of at most an hour"},
           {"free=out_of_memory", "a free cannot fail"},
           {"seed=x;count", "the seed must be a whole number"},
           {"", "it has no rule"},
           {"seed=3", "it has no rule"}}) {
    const std::string text = faults;  // Clang before 16 captures no structured bindings
    CAPTURE(text);
    const Outcome o = run_with_faults(faults);
    CHECK(o.status == 1);
    CHECK(o.complains("reading WEIR_FAULTS"));
    CHECK(o.complains(message));
  }
}

#ifdef WEIR_TEST_FAKE_CUDA
TEST_CASE("faults: functions of CUDA's driver fail by their names, with the driver's errors") {
  const Environment cuda = {{"WEIR_BACKEND", "cuda"}, {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA}};
  Outcome o = tell(cuda, "cuMemAlloc:2=2", {"allocate", "allocate", "allocate"});
  CHECK(o.count("allocate: ok") == 2);
  CHECK(o.says("allocate: out_of_memory"));
  o = tell(cuda, "cuStreamSynchronize:2=CUDA_ERROR_ILLEGAL_ADDRESS",
           {"stream", "synchronize", "synchronize", "synchronize"});
  CHECK(o.count("synchronize: ok") == 2);
  CHECK(o.says("synchronize: device_fault | CUDA_ERROR_ILLEGAL_ADDRESS"));
  o = tell(cuda, "cuInit=100", {"allocate"});
  CHECK(o.says("allocate: no_device"));
  o = tell(cuda, "cuLunchKernel:2=2", {"allocate"});
  CHECK(o.says("allocate: invalid_environment"));
  CHECK(o.says(
      "reading WEIR_FAULTS, 'cuLunchKernel:2=2': the backend cuda does not call a function 'cuLunchKernel'; did you mean "
      "'cuLaunchKernel'?"));
  o = tell(cuda, "cuLaunchKernel=CUDA_ERROR_ILLEGAL_ADRESS", {"allocate"});
  CHECK(o.says("did you mean 'CUDA_ERROR_ILLEGAL_ADDRESS'?"));
  o = tell(cuda, "cuGraphAddNode=2;cuFuncLoad=2", {"allocate"});  // of newer drivers
  CHECK(o.says("allocate: ok"));
  o = tell(cuda, "count;hipMalloc=2", {"allocate"});
  CHECK(o.complains("weir faults: cuMemAlloc: called 1 times"));
  CHECK(o.complains("weir faults: hipMalloc=2: 0 of 0 failed"));
}

TEST_CASE("faults: after a sticky failure every call of the driver fails that needs the device") {
  const Environment cuda = {{"WEIR_BACKEND", "cuda"}, {"WEIR_CUDA_DRIVER", WEIR_TEST_FAKE_CUDA}};
  const Outcome o = tell(cuda, "cuLaunchKernel:2=CUDA_ERROR_ILLEGAL_ADDRESS sticky",
                         {"stream", "module", "kernel", "launch", "launch", "launch", "synchronize", "allocate"});
  CHECK(o.status == 0);
  CHECK(o.count("launch: ok") == 1);
  CHECK(o.count("launch: device_fault") == 2);
  CHECK(o.says("synchronize: device_fault"));
  CHECK(o.says("allocate: device_fault"));
}
#endif

#ifdef WEIR_TEST_FAKE_HIP
TEST_CASE("faults: functions of HIP's runtime fail by their names, with the runtime's errors") {
  const Environment hip = {
      {"WEIR_BACKEND", "hip"}, {"WEIR_HIP_RUNTIME", WEIR_TEST_FAKE_HIP}, {"WEIR_HIPRTC", "/nonexistent/libhiprtc.so"}};
  Outcome o = tell(hip, "hipMalloc:2=2", {"allocate", "allocate", "allocate"});
  CHECK(o.count("allocate: ok") == 2);
  CHECK(o.says("allocate: out_of_memory"));
  o = tell(hip, "hipMallocAsync=2;hipUserObjectCreate=2", {"allocate"});  // of newer runtimes
  CHECK(o.says("allocate: ok"));
  o = tell(hip, "hipStreamSynchronize:1=hipErrorIllegalAddress", {"stream", "synchronize", "synchronize"});
  CHECK(o.count("synchronize: ok") == 1);
  CHECK(o.says("synchronize: device_fault | hipErrorIllegalAddress"));
  o = tell(hip, "hipMaloc:2=2", {"allocate"});
  CHECK(o.says("the backend hip does not call a function 'hipMaloc'; did you mean 'hipMalloc'?"));
}
#endif
