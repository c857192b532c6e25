// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/tools/stuck_programs.hpp"
#include "weir/await.hpp"

// Each of these programs waits for something that happens only after about `slow`. The tool must let it continue.

namespace weir::test {
namespace {

using namespace std::chrono_literals;
constexpr auto slow = 400ms;

#define WEIR_SLOW_PROGRAM(name)                                         \
  void name(Device& device);                                            \
  const AddStuckProgram add_##name(slow_programs(), {#name, {}, name}); \
  void name(Device& device)

void set(std::uint32_t* word) { std::atomic_ref(*word).store(1); }

/// Another thread, which sleeps and then calls `function`; awaited where the result goes out of scope.
template <class F>
std::jthread later(F function) {
  return std::jthread([=] {
    std::this_thread::sleep_for(slow);
    function();
  });
}

/// A stream that waits for a word.
struct Waiting {
  explicit Waiting(Device& device)
      : words(device.allocate<std::uint32_t>(2, MemoryKind::pinned)), stream(device.create_stream()), word(words.data()) {
    for (std::uint32_t& each : words.host()) each = 0;
    stream->wait_value(word, 1U);
  }
  Buffer<std::uint32_t> words;
  StreamPtr stream;
  std::uint32_t* word;
};

WEIR_SLOW_PROGRAM(another_thread_writes) {
  const Waiting waiting(device);
  const std::jthread other = later([&] { set(waiting.word); });
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(this_thread_writes) {
  const Waiting waiting(device);
  std::this_thread::sleep_for(slow);
  set(waiting.word);
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(another_thread_submits) {
  const Waiting waiting(device);
  const StreamPtr writer = device.create_stream();
  const std::jthread other = later([&] { writer->write_value(waiting.word, 1U); });
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_slow_function) {
  const Waiting waiting(device);
  const StreamPtr writer = device.create_stream();
  writer->launch_host_function([] { std::this_thread::sleep_for(slow); });
  writer->write_value(waiting.word, 1U);
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_busy_function) {
  const Waiting waiting(device);
  const StreamPtr writer = device.create_stream();
  writer->launch_host_function([] {
    for (const auto end = std::chrono::steady_clock::now() + slow; std::chrono::steady_clock::now() < end;) {
    }
  });
  writer->write_value(waiting.word, 1U);
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_function_that_is_told) {
  const StreamPtr stream = device.create_stream();
  std::mutex mutex;
  std::condition_variable changed;
  bool told = false;
  stream->launch_host_function([&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return told; });
  });
  const std::jthread other = later([&] {
    const std::lock_guard lock(mutex);
    told = true;
    changed.notify_one();
  });
  stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_wait_with_a_deadline) {
  const Waiting waiting(device);
  if (!waiting.stream->synchronize_for(slow)) set(waiting.word);
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_device_with_a_deadline) {
  const Waiting waiting(device);
  if (!device.synchronize_for(slow)) set(waiting.word);
  device.synchronize();
}

WEIR_SLOW_PROGRAM(a_thread_that_polls) {
  const Waiting waiting(device);
  const auto end = std::chrono::steady_clock::now() + slow;
  while (!waiting.stream->is_complete()) {
    if (std::chrono::steady_clock::now() > end) set(waiting.word);
  }
}

// --- From outside -----------------------------------------------------------------------------------------------------

/// Another process that sleeps and then calls `function`; reaped by the caller.
template <class F>
pid_t start_process(const F& function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::usleep(static_cast<useconds_t>(std::chrono::microseconds(slow).count()));
    function();
    ::_exit(0);
  }
  return child;
}

WEIR_SLOW_PROGRAM(another_process_writes) {
  auto* const word =
      static_cast<std::uint32_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = start_process([&] { set(word); });
  const StreamPtr stream = device.create_stream();
  stream->wait_value(word, 1U);
  stream->synchronize();
  ::waitpid(child, nullptr, 0);
}

// --- The device's own work --------------------------------------------------------------------------------------------

WEIR_SLOW_PROGRAM(a_slow_kernel) {
  const Waiting waiting(device);
  const ModulePtr module = device.compile(
      "extern \"C\" __global__ void wait_for(volatile unsigned* word, unsigned* next) { while (*word == 0) {} *next = 1; }");
  const StreamPtr writer = device.create_stream();
  writer->launch(module->untyped_kernel("wait_for"), {1, 1}, waiting.word + 1, waiting.word);
  const std::jthread other = later([&] { set(waiting.word + 1); });
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_graph_with_a_slow_function) {
  const Waiting waiting(device);
  const StreamPtr writer = device.create_stream();
  const GraphExecPtr exec = writer
                                ->capture([&](Stream& stream) {
                                  stream.launch_host_function([] { std::this_thread::sleep_for(slow); });
                                  stream.write_value(waiting.word, 1U);
                                })
                                ->instantiate();
  exec->launch(*writer);
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_continuation_writes) {
  const Waiting waiting(device);
  const StreamPtr other = device.create_stream();
  when_done(*other, [&](std::exception_ptr) {
    std::this_thread::sleep_for(slow);
    set(waiting.word);
  });
  waiting.stream->synchronize();
}

/// The function's captured object goes on a thread of Weir's, and writes in its destructor.
WEIR_SLOW_PROGRAM(a_destructor_writes) {
  struct Writer {
    explicit Writer(std::uint32_t* at) : word(at) {}
    ~Writer() {
      std::this_thread::sleep_for(slow);
      set(word);
    }
    std::uint32_t* word;
  };
  const Waiting waiting(device);
  const StreamPtr other = device.create_stream();
  other->launch_host_function([writer = std::make_unique<Writer>(waiting.word)] {});
  waiting.stream->synchronize();
}

WEIR_SLOW_PROGRAM(a_late_rank) {
  Device& second = device.backend().device(1);
  const std::vector<Device*> both = {&device, &second};
  const auto ranks = Communicator::from_devices(both);
  const StreamPtr a = device.create_stream(), b = second.create_stream();
  const auto x = device.allocate<float>(4), y = second.allocate<float>(4);
  a->fill(x, 1.0F);
  b->fill(y, 1.0F);
  ranks[0]->all_reduce(x, Reduction::sum, *a);
  const std::jthread other = later([&] {
    ranks[1]->all_reduce(y, Reduction::sum, *b);
    b->synchronize();
  });
  a->synchronize();
}

/// What waits for a rank in vain fails when the time is over, and is no deadlock.
WEIR_SLOW_PROGRAM(a_rank_that_never_comes) {
  Device& second = device.backend().device(1);
  const std::vector<Device*> both = {&device, &second};
  const auto ranks = Communicator::from_devices(both, {.timeout = slow});
  const StreamPtr a = device.create_stream();
  const auto x = device.allocate<float>(4);
  a->fill(x, 1.0F);
  ranks[0]->all_reduce(x, Reduction::sum, *a);
  a->synchronize();
}

}  // namespace
}  // namespace weir::test
