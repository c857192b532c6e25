// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/programs.hpp"

// Programs for tests of tools other than the race detector.

namespace weir::test {
namespace {

constexpr std::size_t n = 4096;

/// Of the calling process, in KiB.
long memory_in_use() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;) {
    if (long kib = 0; word == "VmRSS:" && in >> kib) return kib;
  }
  throw std::runtime_error("/proc/self/status does not say how much memory is in use");
}

/// A program that runs for long needs no more memory, whatever looks at it.
WEIR_TEST_PROGRAM(many_replays) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  const auto exec = a->capture([&](Stream& stream) {
                       b->wait(stream);
                       stream.fill(x, 1.0F);
                       b->fill(y, 2.0F);
                       stream.wait(b);
                       stream.copy(y, x);
                     })->instantiate();
  const EventPtr done = device.create_event();
  long early = 0;
  for (int i = 1; i <= 6000; ++i) {
    const ScopedRange range("replay");
    exec->launch(*a);
    a->record(*done);
    b->wait(done);
    b->fill(y, 3.0F);
    a->wait(b);
    if (i % 500 == 0) a->synchronize();
    if (i == 2000) early = memory_in_use();
  }
  const long growth = memory_in_use() - early;
  if (growth > 3072) throw std::runtime_error("4000 replays took " + std::to_string(growth) + " KiB more");
}

/// Ends as a program does that crashes.
WEIR_TEST_PROGRAM(is_killed) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<float>(n);
  const ScopedRange range("until it is killed");
  for (int i = 0; i < 10; ++i) stream->fill(x, 1.0F);
  stream->synchronize();
  stream->launch_host_function([] { std::raise(SIGKILL); });
  stream->synchronize();
}

/// The same, of a program that asks and does not wait.
WEIR_TEST_PROGRAM(is_killed_as_it_polls) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<float>(n);
  for (int i = 0; i < 10; ++i) stream->fill(x, 1.0F);
  while (!stream->is_complete()) {
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) (void)stream->is_complete();
  std::raise(SIGKILL);
}

/// More work is under way than times are kept of.
WEIR_TEST_PROGRAM(much_at_once) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<float>(1);
  std::promise<void> go;
  stream->launch_host_function([&] { go.get_future().wait(); });
  for (int i = 0; i < 20000; ++i) stream->fill(x, 1.0F);
  go.set_value();
  stream->synchronize();
}

/// One stream waits for work of another that is long over.
WEIR_TEST_PROGRAM(a_late_wait) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  a->fill(x, 1.0F);
  const EventPtr filled = a->record();
  a->synchronize();
  b->wait(filled);
  b->copy(y, x);
  b->synchronize();
}

/// Very many pieces of one allocation. `waits`: the host sees from time to time that they are done.
void fill_pieces(Device& device, bool waits) {
  const StreamPtr stream = device.create_stream();
  const auto arena = device.allocate<float>(6000);
  for (std::size_t i = 0; i < arena.size(); ++i) {
    stream->fill(arena.subspan(i, 1), 1.0F);
    if (waits && i % 1000 == 0) stream->synchronize();
  }
  stream->synchronize();
}

WEIR_TEST_PROGRAM(many_pieces) { fill_pieces(device, false); }
WEIR_TEST_PROGRAM(many_pieces_and_waits) { fill_pieces(device, true); }

/// The first write of a value comes behind more waits for it than are kept.
WEIR_TEST_PROGRAM(many_waits) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<float>(1);
  const auto flag = device.allocate<std::uint32_t>(1);
  a->zero(flag);
  a->synchronize();
  for (int i = 0; i < 1200; ++i) b->wait_value(flag.data(), 1);
  b->fill(x, 1.0F);
  a->fill(x, 2.0F);
  a->write_value(flag.data(), 1U);
  a->synchronize();
  b->synchronize();
}

/// Nothing orders any two of the streams.
WEIR_TEST_PROGRAM(many_streams_on_one_buffer) {
  const auto x = device.allocate<float>(n);
  std::vector<StreamPtr> streams;
  for (int i = 0; i < 3000; ++i) {
    streams.push_back(device.create_stream());
    streams.back()->fill(x, 1.0F);
  }
  device.synchronize();
}

/// What a program does about a device that is lost at its second copy: it sees that, keeps what the host has, and ends well.
WEIR_TEST_PROGRAM(copes_with_a_lost_device) {
  const auto must = [](bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
  };
  const StreamPtr stream = device.create_stream(), other = device.create_stream();
  const auto x = device.allocate<float>(n);
  const auto of_stream = other->allocate_async<float>(n);
  const auto kept = device.allocate<float>(n, MemoryKind::pinned);
  std::vector<float> pageable(n);
  stream->fill(x, 3.0F);
  stream->copy(kept, x);
  must(device.health().is_ok(), "the device is lost too early");
  Errc code{};
  try {
    other->copy(pageable, x);
  } catch (const Error& error) {
    code = error.errc();
  }
  must(code == Errc::device_fault, "the second copy was made");
  must(!device.health().is_ok() && device.is_poisoned(), "the device's health is said to be good");
  must(device.health().describe().find("WEIR_FAULTS") != std::string::npos, "its first error is not told");
  code = {};
  try {
    stream->synchronize();
  } catch (const Error& error) {
    code = error.errc();
  }
  must(code == Errc::device_fault, "a lost device was waited for");
  must(kept.host()[n - 1] == 3.0F, "what the host has is lost");
}

/// On HIP: the graph comes from a capture that HIP began by itself. Its launches are not ordered against the other stream.
WEIR_TEST_PROGRAM(race_of_a_graph_that_other_code_began) {
  void* const runtime = ::dlopen(std::getenv("WEIR_HIP_RUNTIME"), RTLD_NOW);
  if (runtime == nullptr) throw std::runtime_error("there is no HIP");
  const auto begin = reinterpret_cast<int (*)(void*, int)>(::dlsym(runtime, "hipStreamBeginCapture"));
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<float>(n);
  if (begin(a->share_native_handle(), 2) != 0) throw std::runtime_error("HIP does not capture");
  a->fill(x, 1.0F);
  const GraphExecPtr exec = a->end_capture()->instantiate();
  exec->launch(a);
  b->fill(x, 2.0F);
  device.synchronize();
}

/// Everything has a name. The event stands for too little, and the host function is not waited for.
WEIR_TEST_PROGRAM(named_objects) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto weights = device.allocate<float>(n), sums = device.allocate<float>(n, MemoryKind::pinned);
  const EventPtr ready = device.create_event();
  a->set_name("producer");
  b->set_name("consumer");
  weights.set_name("weights");
  sums.set_name("sums");
  ready->set_name("ready");
  a->record(*ready);
  a->fill(weights, 1.0F);
  b->wait(ready);
  b->fill(weights, 2.0F);
  a->launch_host_function([&] { sums.host()[0] = 1.0F; }, {.name = "reduce"});
  b->fill(sums, 2.0F);
  device.synchronize();
  a->set_name("late");
}

/// The names are those of objects that are gone.
WEIR_TEST_PROGRAM(names_that_are_gone) {
  for (const bool named : {true, false}) {
    const StreamPtr a = device.create_stream(), b = device.create_stream();
    const auto x = device.allocate<float>(n);
    if (named) {
      a->set_name("gone");
      b->set_name("gone");
      x.set_name("gone");
    } else {
      a->fill(x, 1.0F);
      b->fill(x, 2.0F);
    }
    device.synchronize();
  }
}

void race_once(Device& device) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<float>(n);
  a->fill(x, 1.0F);
  b->fill(x, 2.0F);
  device.synchronize();
}

// Programs that race, and end in unusual ways.
WEIR_TEST_PROGRAM(ends_by_underscore_exit) {
  race_once(device);
  ::_exit(0);
}
WEIR_TEST_PROGRAM(ends_by_quick_exit) {
  race_once(device);
  std::quick_exit(0);
}
WEIR_TEST_PROGRAM(ends_by_abort) {
  race_once(device);
  std::abort();
}
WEIR_TEST_PROGRAM(ends_by_an_exception) {
  race_once(device);
  std::thread([] { throw std::runtime_error("nobody catches it"); }).join();
}
/// As the workers of Python's multiprocessing, which end by `_exit`; without a race of its own.
WEIR_TEST_PROGRAM(has_a_worker_that_races) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  std::string program = "ends_by_underscore_exit";
  char* const arguments[] = {const_cast<char*>(self.c_str()), program.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (::posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ) != 0 ||
      ::waitpid(child, &status, 0) != child)
    throw std::runtime_error("there is no worker");
}

WEIR_TEST_PROGRAM(a_named_stream) {
  const StreamPtr stream = device.create_stream();
  stream->set_name("copies");
  device.create_event()->set_name("loaded");
}

/// Names that would forge lines, and colour the terminal.
WEIR_TEST_PROGRAM(named_with_control_characters) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  a->set_name("a\nweir race: \x1b[31m");
  const auto x = device.allocate<float>(n);
  x.set_name("\x1b[0m");
  const ScopedRange range("step\x1b");
  a->fill(x, 1.0F);
  b->fill(x, 2.0F);
}

/// As validate sees names.
WEIR_TEST_PROGRAM(named_mistake) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<float>(n);
  stream->set_name("copies");
  x.set_name("weights");
  weir::detail::fill_elements(*stream, x.data(), 0, 4, n + 1);
}

/// Runs `round` 1000 times, then 4000 times more, which may not take more memory.
template <class F>
void run_often(F&& round) {
  for (int i = 0; i < 1000; ++i) round();
  const long early = memory_in_use();
  for (int i = 0; i < 4000; ++i) round();
  const long growth = memory_in_use() - early;
  std::printf("grew by %ld KiB\n", growth);
}

/// Each thread has a default stream of its own, and waits for its work.
WEIR_TEST_PROGRAM(many_threads) {
  const auto x = device.allocate<float>(n);
  run_often([&] {
    std::thread([&] {
      const StreamPtr own = device.per_thread_stream();
      own->fill(x, 1.0F);
      own->synchronize();
    }).join();
  });
}

/// Graphs with branches, and streams, that come and go in turn.
WEIR_TEST_PROGRAM(many_graphs) {
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  const StreamPtr a = device.create_stream();
  std::vector<GraphExecPtr> kept;  // so that no other one gets the address at once
  run_often([&] {
    const StreamPtr b = device.create_stream();
    const GraphExecPtr exec = a->capture([&](Stream& stream) {
                                 b->wait(stream);
                                 stream.fill(x, 1.0F);
                                 b->fill(y, 2.0F);
                                 stream.wait(b);
                               })->instantiate();
    exec->launch(*a);
    a->synchronize();
    kept.push_back(exec);
    if (kept.size() == 100) kept.clear();
  });
}

WEIR_TEST_PROGRAM(compiles_and_loads) {
  constexpr const char* source = "extern \"C\" __global__ void k() {}";
  if (!device.supports(Feature::runtime_compilation)) return;
  (void)device.compile(source);
  const std::vector<std::byte> image = Registry::instance().compile_image("host", "native", source);
  (void)device.load_module(image);
  (void)device.create_memory_pool();
}

}  // namespace
}  // namespace weir::test
