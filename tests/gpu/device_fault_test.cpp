// SPDX-License-Identifier: Apache-2.0

// Tests a device with a kernel that writes to null, and a device with a kernel that never ends. Each test runs in its own
// process, because the process cannot use the device afterwards.
//
//   weir_device_fault_test BACKEND         runs the parts one after another
//   weir_device_fault_test BACKEND PART    one part in this process: fault, hang or works

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "weir/weir.hpp"

extern char** environ;

namespace {

using namespace std::chrono_literals;
using weir::PendingWork;

constexpr int skipped = 77;
constexpr const char* source = R"(
extern "C" __global__ void store_one(unsigned* address) { *address = 1; }
extern "C" __global__ void never_ends(volatile unsigned* word) { while (*word == 0) {} }
)";

int failures = 0;

void check(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  if (!holds) ++failures;
}

/// Whether the call throws the fault of the device. `first`: the code of the first error, or 0.
template <class F>
bool faults(const char* what, std::int64_t& first, F&& call) {
  try {
    call();
    std::printf("%s: no error\n", what);
  } catch (const weir::Error& error) {
    std::printf("%s: %s\n", what, error.what());
    if (first == 0) first = error.native().code;
    return error.errc() == weir::Errc::device_fault && error.native().code == first;
  }
  return false;
}

/// Ends the process without the destructors, which would wait for a device that hangs.
[[noreturn]] void end() {
  std::fflush(stdout);
  std::_Exit(failures == 0 ? 0 : 1);
}

// --- The parts --------------------------------------------------------------------------------------------------------

void fault(weir::Device& device) {
  const weir::StreamPtr stream = device.create_stream(), known = device.create_stream();
  (void)known->share_native_handle();  // external code knows it
  const weir::EventPtr event = device.create_event();
  const auto pinned = device.allocate<unsigned>(64, weir::MemoryKind::pinned);
  const auto memory = device.allocate<unsigned>(64);
  pinned.host()[0] = 7;
  // CUDA's driver opens no further device once one has failed.
  weir::Device* const other = device.backend().device_count() > 1 ? &device.backend().device(1) : nullptr;
  const weir::StreamPtr there = other != nullptr ? other->create_stream() : nullptr;
  const auto words = other != nullptr ? other->allocate<unsigned>(16) : weir::Buffer<unsigned>();
  check(device.health().is_ok(), "the device is healthy before");
  const auto kernel = device.compile(source)->untyped_kernel("store_one");
  stream->launch(kernel, weir::LaunchConfig{}, static_cast<unsigned*>(nullptr));
  // The fault is found without a call that waits for the work.
  for (int i = 0; i < 1000 && device.health().is_ok(); ++i) std::this_thread::sleep_for(10ms);
  const weir::DeviceHealth health = device.health();
  std::printf("%s\n", health.describe().c_str());
  check(!health.is_ok(), "health() finds the fault by itself");
  check(device.is_poisoned(), "the device is poisoned");
  const auto is_store = [](const weir::Suspect& suspect) {
    return suspect.work.kind == PendingWork::Kind::kernel && suspect.work.subject == "store_one";
  };
  check(std::any_of(health.suspects.begin(), health.suspects.end(), is_store), "the kernel is among the suspects");

  std::int64_t first = health.error ? health.error->native().code : 0;
  check(first != 0, "the first error has the driver's code");
  check(faults("synchronize", first, [&] { stream->synchronize(); }), "synchronize has the first error");
  check(faults("is_complete", first, [&] { (void)known->is_complete(); }), "is_complete has it, on a stream that is known");
  check(faults("record", first, [&] { known->record(*event); }), "record has it");
  check(faults("launch", first, [&] { known->launch(kernel, weir::LaunchConfig{}, memory); }), "launch has it");
  check(faults("allocate", first, [&] { (void)device.allocate<int>(1); }), "allocate has it");
  check(faults("event", first, [&] { (void)event->is_complete(); }), "an event has it");
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    try {
      stream->synchronize();
    } catch (const weir::Error&) {
    }
  }
  check(std::chrono::steady_clock::now() - begin < 1s, "a thousand calls fail at once");
  std::printf("%s\n", known->describe().c_str());

  check(pinned.host()[0] == 7, "pinned memory can be read");
  pinned.host()[0] = 8;
  check(pinned.host()[0] == 8, "pinned memory can be written");
  const weir::StreamPtr on_cpu = weir::device("host:0").create_stream();
  on_cpu->launch_host_function([] {});
  on_cpu->synchronize();
  check(weir::device("host:0").health().is_ok(), "another backend's device goes on");
  if (other != nullptr) {
    try {
      there->fill(words, 5U);
      check(there->read(words)[15] == 5 && other->health().is_ok(), "another device goes on");
    } catch (const weir::Error& error) {
      std::printf("%s\n", error.what());
      check(other->is_poisoned() && !other->health().is_ok(), "another device that is lost, too, is poisoned");
    }
  }
}

void hang(weir::Device& device) {
  const weir::StreamPtr stuck = device.create_stream(), behind = device.create_stream(), valued = device.create_stream();
  const auto word = device.allocate<unsigned>(16, weir::MemoryKind::pinned);
  word.host()[0] = 0;
  const auto kernel = device.compile(source)->untyped_kernel("never_ends");
  // Takes what it needs before anything hangs.
  word.host()[0] = 1;
  stuck->launch(kernel, weir::LaunchConfig{}, word);
  stuck->synchronize();
  std::atomic_ref<unsigned>(word.host()[0]).store(0);

  stuck->launch(kernel, weir::LaunchConfig{}, word);
  const weir::EventPtr event = stuck->record();
  stuck->fill(word.subspan(8, 1), 1U);
  behind->wait(*event);
  behind->fill(word.subspan(9, 1), 1U);
  const auto begin = std::chrono::steady_clock::now();
  check(!stuck->synchronize_for(300ms), "the stream is not done at the deadline");
  check(!event->synchronize_for(300ms), "nor is the event");
  const auto took = std::chrono::steady_clock::now() - begin;
  check(took >= 600ms && took < 5s, "the waits last as long as they are told");
  check(!behind->synchronize_for(0ms), "a wait without time asks once");
  const PendingWork at = stuck->pending(), next = behind->pending();
  std::printf("%s\n%s\n", at.describe().c_str(), next.describe().c_str());
  check(at.kind == PendingWork::Kind::kernel && at.subject == "never_ends", "the stream is at the kernel, by its name");
  check(at.behind == 1, "with one operation behind it");
  check(next.kind == PendingWork::Kind::stream, "the other stream is at its wait for the first");
  if (device.supports(weir::Feature::wait_value_32)) {
    valued->wait_value(word.data() + 10, 3U, weir::WaitCondition::eq);
    const PendingWork value = valued->pending();
    std::printf("%s\n", value.describe().c_str());
    check(value.kind == PendingWork::Kind::value && value.wait.address == word.data() + 10 && value.wait.value == 3,
          "a third one is at its wait for a value");
  }
  check(device.health().is_ok(), "a device that is busy is healthy");
  // Pinned memory could not be freed while the kernel runs: where a check fails, nothing is freed.
  if (failures != 0) end();
  std::atomic_ref<unsigned>(word.host()[0]).store(1);
  std::atomic_ref<unsigned>(word.host()[10]).store(3);
  check(behind->synchronize_for(10s) && valued->synchronize_for(10s), "all goes on when the kernel ends");
}

void works(weir::Device& device) {
  const weir::StreamPtr stream = device.create_stream();
  auto words = device.allocate<unsigned>(16);
  stream->fill(words, 5U);
  check(stream->read(words)[15] == 5, "the device works for a new process");
}

[[noreturn]] void run_part(const std::string& backend, const std::string& part) {
  ::alarm(60);  // where a wait has no end
  try {
    weir::Device& device = weir::device(backend + ":0");
    if (part == "fault") fault(device);
    if (part == "hang") hang(device);
    if (part == "works") works(device);
  } catch (const std::exception& error) {
    check(false, error.what());
  }
  end();
}

/// The exit status of this program with that part, or 1.
int run_child(const std::string& backend, std::string part) {
  std::printf("--- %s\n", part.c_str());
  std::fflush(stdout);
  std::string program = "/proc/self/exe", first = backend;
  char* arguments[] = {program.data(), first.data(), part.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) return 1;
  if (::waitpid(child, &status, 0) != child) return 1;
  if (WIFSIGNALED(status)) std::printf("FAILED: ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // for what is ended from outside
  const std::string backend = argc > 1 ? argv[1] : "cuda";
  if (argc > 2) run_part(backend, argv[2]);
  const weir::BackendInfo& info = weir::Registry::instance().probe(backend);
  if (info.state != weir::BackendState::usable) {
    std::fprintf(stderr, "skipped: %s\n", info.reason.c_str());
    return skipped;
  }
  weir::Device& device = weir::device(backend + ":0");
  if (!device.supports(weir::Feature::runtime_compilation)) {
    std::fprintf(stderr, "skipped: %s\n", device.feature(weir::Feature::runtime_compilation).reason.c_str());
    return skipped;
  }
  ::setenv("WEIR_JOURNAL", "16", 1);  // for the children
  int failed = 0;
  for (const char* const part : {"fault", "works", "hang", "works"}) failed += run_child(backend, part) != 0 ? 1 : 0;
  return failed == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
