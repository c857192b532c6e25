// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

#include "weir/weir.hpp"

/// weir-bench-scaling: measures how the default device scales with the number of streams and operations, and the memory of
/// each object. Each number is for one stream, one operation or one object.
namespace {

using Clock = std::chrono::steady_clock;

weir::Device& device() { return weir::default_device(); }
bool on_host() { return device().backend().name() == "host"; }

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The memory of this process in bytes: on its heap, in resident pages, on the device.
struct Memory {
  double heap = 0, resident = 0, device = 0;

  static Memory now() {
    ::malloc_trim(0);
    const struct mallinfo2 info = ::mallinfo2();
    Memory m{.heap = static_cast<double>(info.uordblks + info.hblkhd)};
    if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
      long total = 0, pages = 0;
      if (std::fscanf(file, "%ld %ld", &total, &pages) == 2)
        m.resident = static_cast<double>(pages * ::sysconf(_SC_PAGESIZE));
      std::fclose(file);
    }
    // For the host device, the free memory is the machine's, which other processes also change.
    if (!on_host()) m.device = -static_cast<double>(::device().memory_info().free);
    return m;
  }
  /// Reports the memory added since `before`, for each of `count` objects.
  void tell(benchmark::State& state, const Memory& before, double count) const {
    state.counters["heap_bytes"] = (heap - before.heap) / count;
    state.counters["resident_bytes"] = (resident - before.resident) / count;
    if (!on_host()) state.counters["device_bytes"] = (device - before.device) / count;
  }
};

/// Time limit. If a driver's cost grows with the number of its objects, the measurement ends early and its row reports that.
constexpr double patience_s = 60;

/// Makes `count` streams. If time runs out or the driver makes no more, returns fewer, and `state` contains the error.
std::vector<weir::StreamPtr> make_streams(benchmark::State& state, std::int64_t count) {
  std::vector<weir::StreamPtr> streams;
  streams.reserve(static_cast<std::size_t>(count));
  const auto begin = Clock::now();
  try {
    for (std::int64_t i = 0; i < count; ++i) {
      streams.push_back(device().create_stream());
      if (i % 64 == 0 && seconds_since(begin) > patience_s) throw std::runtime_error("too slow");
    }
  } catch (const std::exception& e) {
    state.SkipWithError(("ended at " + std::to_string(streams.size()) + " streams: " + e.what()).c_str());
  }
  return streams;
}

void create_streams(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  for (auto _ : state) {
    const Memory before = Memory::now();
    const auto begin = Clock::now();
    const auto streams = make_streams(state, count);
    state.SetIterationTime(seconds_since(begin) / static_cast<double>(count));
    Memory::now().tell(state, before, static_cast<double>(count));
  }
}

/// Fills of 4 bytes on all streams in turn. The time is from the first call to the end of the last fill.
void fills_over_streams(benchmark::State& state) {
  const auto streams = make_streams(state, state.range(0));
  if (streams.empty()) return;
  const auto memory = device().allocate<std::uint32_t>(1);
  const std::size_t fills = std::max<std::size_t>(streams.size(), 20'000);
  const auto all = [&] {
    for (std::size_t i = 0; i < fills; ++i) streams[i % streams.size()]->fill(memory, 7U);
    for (const auto& stream : streams) stream->synchronize();
  };
  all();  // untimed: the first call on each stream has one-time costs
  for (auto _ : state) {
    const auto begin = Clock::now();
    all();
    state.SetIterationTime(seconds_since(begin) / static_cast<double>(fills));
  }
}

/// Fills of 4 bytes on one stream. The time is from the first call to the end of the last fill. On the host device, the
/// stream does not run until all fills are enqueued, so all are pending. A GPU's driver accepts some thousand fills and then
/// blocks the caller.
void pending_fills(benchmark::State& state) {
  const auto stream = device().create_stream();
  const auto memory = device().allocate<std::uint32_t>(1);
  const auto count = static_cast<double>(state.range(0));
  double enqueued = 0;
  for (auto _ : state) {
    std::latch gate(1);
    if (on_host()) stream->launch_host_function([&gate] { gate.wait(); });
    const Memory before = Memory::now();
    const auto begin = Clock::now();
    for (std::int64_t i = 0; i < state.range(0); ++i) stream->fill(memory, 7U);
    enqueued = seconds_since(begin);
    if (on_host()) Memory::now().tell(state, before, count);
    const auto opened = Clock::now();
    gate.count_down();
    stream->synchronize();
    state.SetIterationTime((enqueued + seconds_since(opened)) / count);
  }
  state.counters["enqueue_ns"] = enqueued / count * 1e9;
}

/// Measures the time to make `count` objects by `make`, and their memory.
template <class Make>
void objects(benchmark::State& state, int count, const Make& make) {
  const auto first = make();
  for (auto _ : state) {
    std::vector<decltype(make())> all;
    all.reserve(static_cast<std::size_t>(count));
    const Memory before = Memory::now();
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) all.push_back(make());
    state.SetIterationTime(seconds_since(begin) / count);
    Memory::now().tell(state, before, count);
  }
}

weir::GraphPtr capture_fills(weir::Stream& stream, weir::Span<std::uint32_t> memory, int count) {
  return stream.capture([&](weir::Stream& s) {
    for (int i = 0; i < count; ++i) s.fill(memory, 7U);
  });
}

void register_objects() {
  const auto add = [](const char* name, const std::function<void(benchmark::State&)>& run) {
    benchmark::RegisterBenchmark((std::string("object/") + name).c_str(), run)->UseManualTime()->Iterations(1);
  };
  add("stream", [](benchmark::State& s) { objects(s, 1'000, [] { return device().create_stream(); }); });
  add("event, recorded", [](benchmark::State& s) {
    const auto stream = device().create_stream();
    objects(s, 10'000, [&] {
      auto event = device().create_event();
      stream->record(*event);
      return event;
    });
  });
  add("buffer of 4 bytes",
      [](benchmark::State& s) { objects(s, 10'000, [] { return device().allocate<std::uint32_t>(1); }); });
  add("pinned buffer of 4 bytes", [](benchmark::State& s) {
    objects(s, 1'000, [] { return device().allocate<std::uint32_t>(1, weir::MemoryKind::pinned); });
  });
  if (!device().supports(weir::Feature::graph_capture)) return;
  for (const int fills : {1, 100}) {
    add(fills == 1 ? "executable graph of 1 fill" : "executable graph of 100 fills", [fills](benchmark::State& s) {
      const auto stream = device().create_stream();
      const auto memory = device().allocate<std::uint32_t>(1);
      const auto graph = capture_fills(*stream, memory, fills);
      objects(s, 500, [&] { return graph->instantiate(); });
    });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  // Measure objects first, because their memory is measured best while the heap is small.
  register_objects();
  benchmark::RegisterBenchmark("create_streams", create_streams)
      ->RangeMultiplier(10)
      ->Range(1, 100'000)
      ->UseManualTime()
      ->Iterations(1);
  benchmark::RegisterBenchmark("fills_over_streams", fills_over_streams)
      ->RangeMultiplier(10)
      ->Range(1, 100'000)
      ->UseManualTime()
      ->Iterations(1);
  benchmark::RegisterBenchmark("pending_fills", pending_fills)
      ->RangeMultiplier(10)
      ->Range(1, 1'000'000)
      ->UseManualTime()
      ->Iterations(1);
  benchmark::AddCustomContext("device", device().properties().name);
  benchmark::AddCustomContext("backend", std::string(device().backend().name()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "weir-bench-scaling: %s\n", e.what());
  return 1;
}
