// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "driver.hpp"

// Tests cases in which the driver has its own rules for graphs.

using driver::error_of;
using weir::Errc;

namespace {

weir::Device& device() { return weir::cuda::device(0); }

// Destroyed behind the driver, which is opened later.
struct {
  weir::ModulePtr module;
  weir::MemoryPoolPtr pool;
  weir::EventPtr event;
  weir::GraphExecPtr exec;
} kept;

}  // namespace

TEST_CASE("priorities: an urgent kernel begins in the midst of a flood, in a graph as on streams") {
  const auto module = device().compile(R"(
typedef unsigned long long time;
__device__ time now() { time t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
extern "C" __global__ void delay(time* ends, unsigned ns) {
  const time begin = now();
  while (now() - begin < ns) {}
  if (threadIdx.x == 0) atomicMax(ends, now());
}
extern "C" __global__ void urgent(time* begins) { *begins = now(); })");
  const auto delay = module->kernel<void(unsigned long long*, unsigned)>("delay");
  const auto urgent = module->kernel<void(unsigned long long*)>("urgent");
  const auto times = device().allocate<unsigned long long>(3);
  const auto low = device().create_stream({.priority = weir::Priority::low});
  const auto high = device().create_stream({.priority = weir::Priority::high});
  const auto even = device().create_stream(), second = device().create_stream();
  // 4 ms of blocks that fill the device; the urgent kernel is ready after 0.3 ms.
  const auto blocks = static_cast<unsigned>(device().properties().multiprocessor_count) * 8 * 40;
  const auto work = [&](weir::Stream& stream, weir::Stream& other, bool in_launch) {
    weir::LaunchConfig flood{.grid = blocks, .block = 256}, one{.grid = 1, .block = 1};
    if (in_launch) {
      flood.priority = device().priority_range().least;
      one.priority = device().priority_range().greatest;
    }
    stream.fill(times, 0ULL);
    other.wait(stream);
    stream.launch(delay, flood, times, 100000U);
    other.launch(delay, one, times.subspan(2), 300000U);
    other.launch(urgent, one, times.subspan(1));
    stream.wait(other);
  };
  const auto lead = [&](weir::Stream& stream) {  // of the urgent kernel over the flood's end, in ns
    const auto seen = stream.read(times);
    return static_cast<long long>(seen[0]) - static_cast<long long>(seen[1]);
  };
  for (int round = 0; round < 2; ++round) {
    work(*low, *high, false);
    CHECK(lead(*low) > 1000000);
    low->capture([&](weir::Stream& s) { work(s, *high, false); })->instantiate()->launch(*low);
    CHECK(lead(*low) > 1000000);
    even->capture([&](weir::Stream& s) { work(s, *second, true); })->instantiate()->launch(*even);
    CHECK(lead(*even) > 1000000);
  }
}

TEST_CASE("conditional nodes: nested, a fork in the body, and a launch for each state of the condition") {
  const weir::StreamPtr stream = device().create_stream(), helper = device().create_stream();
  auto words = device().allocate<std::uint32_t>(4, weir::MemoryKind::pinned);
  std::uint32_t* const w = words.data();
  const auto steps =
      stream
          ->capture([&](weir::Stream& s) {
            s.capture_if(w, [&](weir::Stream& outer) {
              helper->wait(outer);
              weir::detail::fill_elements(*helper, w + 2, 1, 4, 1);
              outer.wait(*helper);
              outer.capture_if(w + 1, [&](weir::Stream& inner) { weir::detail::fill_elements(inner, w + 3, 1, 4, 1); });
            });
          })
          ->instantiate();
  for (unsigned state = 0; state < 4; ++state) {
    CAPTURE(state);
    w[0] = state & 1U;
    w[1] = state >> 1U;
    w[2] = w[3] = 0;
    steps->launch(*stream);
    stream->synchronize();
    CHECK(w[2] == (state & 1U));
    CHECK(w[3] == (state == 3 ? 1 : 0));
  }
}

TEST_CASE("conditional body: one that external code breaks makes the graph unusable, and all streams usable at the end") {
  const weir::StreamPtr stream = device().create_stream(), forked = device().create_stream();
  auto memory = device().allocate<std::uint32_t>(2, weir::MemoryKind::pinned);
  memory.host()[0] = 1;
  const auto query = [](weir::Stream& s) { (void)DRIVER(cuStreamQuery, cuStreamQuery)(weir::cuda::stream(s)); };
  const auto break_body = [&](weir::Stream& body) {
    forked->wait(body);
    weir::detail::fill_elements(*forked, memory.data() + 1, 9, 4, 1);
    query(body);
  };
  struct Way {
    const char* name;
    std::function<void()> act;
    Errc code;
  };
  const Way ways[] = {
      {"if", [&] { stream->capture_if(memory.data(), break_body); }, Errc::capture_invalidated},
      {"while", [&] { stream->capture_while(memory.data(), break_body); }, Errc::capture_invalidated},
      {"nested",
       [&] { stream->capture_if(memory.data(), [&](weir::Stream& outer) { outer.capture_if(memory.data(), break_body); }); },
       Errc::capture_invalidated},
      {"caught",
       [&] {
         stream->capture_if(memory.data(), [&](weir::Stream& outer) {
           CHECK(error_of([&] { outer.capture_if(memory.data(), break_body); }) == Errc::capture_invalidated);
         });
       },
       Errc{}},
  };
  for (int round = 0; round < 10; ++round) {
    for (const Way& way : ways) {
      CAPTURE(way.name);
      stream->begin_capture();
      CHECK(error_of(way.act) == way.code);
      CHECK(error_of([&] { (void)stream->end_capture(); }) == Errc::capture_invalidated);
      for (weir::Stream* const s : {stream.get(), forked.get()}) {
        weir::detail::fill_elements(*s, memory.data() + 1, 4, 4, 1);
        s->synchronize();
      }
      device().synchronize();
    }
  }
  // Broken from outside: the end of the capture fails in the driver. Weir refuses the outer stream in a body, so external
  // code has its handle from before.
  const auto native = weir::cuda::stream(*stream);
  stream->begin_capture();
  (void)error_of([&] {
    stream->capture_if(memory.data(), [&](weir::Stream&) { (void)DRIVER(cuStreamQuery, cuStreamQuery)(native); });
  });
  CHECK(error_of([&] { (void)stream->end_capture(); }) == Errc::capture_invalidated);
  // Both: the body's capture stays open in the driver, and with it the stream that it was forked to.
  stream->begin_capture();
  CHECK(error_of([&] { stream->capture_if(memory.data(), query); }) == Errc::capture_invalidated);
  query(*stream);
  CHECK(error_of([&] { (void)stream->end_capture(); }) == Errc::capture_invalidated);
  weir::detail::fill_elements(*stream, memory.data() + 1, 4, 4, 1);
  stream->synchronize();
}

TEST_CASE("captures: ones that fail with a child graph, beside copies and executables of that graph") {
  auto memory = device().allocate<std::uint32_t>(1, weir::MemoryKind::pinned);
  const weir::GraphPtr child = device().create_stream()->capture([&](weir::Stream& s) { s.fill(memory, 3U); });
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const weir::StreamPtr stream = device().create_stream(), forked = device().create_stream();
      while (!stop) {
        if (i % 2 == 0) {
          (void)child->instantiate();
          (void)child->clone();
          continue;
        }
        (void)error_of([&] {
          (void)stream->capture([&](weir::Stream& s) {
            s.add_child_graph(*child);
            forked->wait(s);
            forked->add_child_graph(*child);
          });
        });
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  stop = true;
}

TEST_CASE("graph memory: what the last launch left is freed behind it when the executable ends") {
  const weir::StreamPtr stream = device().create_stream(), forked = device().create_stream();
  const auto used = [] {
    cuuint64_t bytes = 0;
    DRIVER(cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute)(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &bytes);
    return bytes;
  };
  constexpr std::size_t size = std::size_t{64} << 20;
  constexpr int rounds = 24;
  auto words = device().allocate<std::uint32_t>(rounds, weir::MemoryKind::pinned);
  std::uint64_t most = 0;
  const auto run = [&](bool fork, int launches, bool at_once) {
    for (std::uint32_t round = 0; round < rounds; ++round) {
      weir::Buffer<std::uint32_t> kept;
      const weir::GraphPtr graph = stream->capture([&](weir::Stream& s) {
        // Freed by a node: the driver may use its address again for what follows.
        auto freed = s.allocate_async<std::uint32_t>(size / 4);
        s.fill(freed, round);
        freed.reset();
        weir::Stream& on = fork ? *forked : s;
        if (fork) on.wait(s);
        kept = on.allocate_async<std::uint32_t>(size / 4);
        on.fill(kept, round);
        on.copy(words.subspan(round, 1), kept.subspan(0, 1));
        if (fork) s.wait(on);
      });
      kept.reset();
      const weir::GraphExecPtr exec = graph->instantiate();
      for (int i = 0; i < launches; ++i) exec->launch(i % 2 == 0 ? *stream : *forked);
      if (!at_once) {
        stream->synchronize();
        forked->synchronize();
      }
      most = std::max(most, std::uint64_t{used()});
    }
    stream->synchronize();
    forked->synchronize();
    for (std::uint32_t round = 0; launches != 0 && round < rounds; ++round) CHECK(words.host()[round] == round);
  };
  for (const bool fork : {true, false}) {
    for (const int launches : {0, 1, 3}) {
      run(fork, launches, false);
      run(fork, launches, true);
    }
  }
  INFO("most at a time: ", most >> 20, " MiB");
  CHECK(most < 8 * size);
  (void)DRIVER(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim)(0);
  CHECK(used() < size);
}

TEST_CASE("resumed capture: its failure destroys the graph, later uses say so, and older executables still work") {
  const weir::StreamPtr stream = device().create_stream();
  auto memory = device().allocate<std::uint32_t>(1, weir::MemoryKind::pinned);
  const weir::GraphPtr graph = stream->capture([&](weir::Stream& s) { s.fill(memory, 3U); });
  const weir::GraphExecPtr before = graph->instantiate();
  stream->resume_capture(graph);
  // External code breaks the capture.
  (void)DRIVER(cuStreamQuery, cuStreamQuery)(weir::cuda::stream(*stream));
  CHECK(stream->capture_status() == weir::CaptureStatus::invalidated);
  CHECK(error_of([&] { (void)stream->end_capture(); }) == Errc::capture_invalidated);
  CHECK(error_of([&] { (void)graph->node_count(); }) == Errc::capture_invalidated);
  CHECK(error_of([&] { (void)graph->instantiate(); }) == Errc::capture_invalidated);
  CHECK(error_of([&] { stream->resume_capture(graph); }) == Errc::capture_invalidated);
  before->launch(*stream);
  const auto parent = stream->capture([&](weir::Stream& s) { before->launch(s); })->instantiate();
  stream->synchronize();
  CHECK(memory.host()[0] == 3);
  memory.host()[0] = 0;
  parent->launch(*stream);
  stream->synchronize();
  CHECK(memory.host()[0] == 3);
}

TEST_CASE("exceptions of a graph's host functions: one of the launching streams rethrows each once") {
  std::vector<weir::StreamPtr> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(device().create_stream());
  const auto count = std::make_shared<int>(0);
  auto exec = streams[0]
                  ->capture([&](weir::Stream& s) {
                    s.launch_host_function([count] {
                      const int run = (*count)++;
                      if (run % 5 == 3) throw std::runtime_error(std::to_string(run));
                    });
                    s.launch_host_function([] {});
                  })
                  ->instantiate();
  const auto thrown_by = [](weir::Stream& stream) {
    try {
      stream.synchronize();
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    for (const weir::StreamPtr& stream : streams) exec->launch(*stream);
    if (round == 39) exec.reset();  // its launches go on, and what they throw is heard of
    std::string thrown;
    for (const weir::StreamPtr& stream : streams) thrown += thrown_by(*stream);
    for (const weir::StreamPtr& stream : streams) thrown += thrown_by(*stream);
    CHECK(thrown == std::to_string(round * 5 + 3));
  }
  CHECK(*count == 200);
}

TEST_CASE("batch: longer than the driver takes at once, it is one submission, also as a node") {
  const weir::StreamPtr stream = device().create_stream();
  constexpr std::uint32_t n = 1000;
  auto memory = device().allocate<std::uint32_t>(n, weir::MemoryKind::pinned);
  std::vector<weir::MemoryOperation> batch;
  for (std::uint32_t i = 0; i < n; ++i) {
    // Each write waits for the one before.
    if (i != 0) batch.push_back(weir::MemoryOperation::wait(memory.data() + i - 1, i, weir::WaitCondition::eq));
    batch.push_back(weir::MemoryOperation::write(memory.data() + i, i + 1));
  }
  stream->batch_memory_operations(batch);
  stream->synchronize();
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(memory.host()[i] == i + 1);
  const auto graph = stream->capture([&](weir::Stream& s) { s.batch_memory_operations(batch); });
  CHECK(graph->node_count() == 1);
  const auto exec = graph->instantiate();
  for (std::uint32_t i = 0; i < n; ++i) memory.host()[i] = 0;
  exec->launch(*stream);
  stream->synchronize();
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(memory.host()[i] == i + 1);
}

TEST_CASE("modules: host functions may ask for a kernel's properties, and static objects may outlive the driver") {
  kept.module = device().compile("extern \"C\" __global__ void add(unsigned* p) { *p += 1; }");
  kept.pool = device().create_memory_pool();
  kept.event = device().create_event();
  const weir::KernelPtr kernel = kept.module->untyped_kernel("add");
  const weir::StreamPtr stream = device().create_stream();
  kept.exec = stream->capture([](weir::Stream& s) { s.launch_host_function([] {}); })->instantiate();
  std::uint32_t threads = 0;
  stream->launch_host_function([&] { threads = kernel->properties().max_threads_per_block; });
  stream->synchronize();
  CHECK(threads >= 32);
}
