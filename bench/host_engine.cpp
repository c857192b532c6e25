// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the host backend's engine. Each number is the time from the first call to the end of the last
// operation, divided by the number of operations. One thread enqueues them.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <latch>
#include <vector>

#include "weir/weir.hpp"

namespace {

constexpr int pieces = 100'000;

weir::Device& device() {
  static weir::Device& host = weir::device("host:0");
  return host;
}

/// Keeps a stream busy from this object's creation until `open` is called, so that operations are enqueued on a busy stream.
class Gate {
 public:
  explicit Gate(weir::Stream& stream) {
    stream.launch_host_function([this] { latch_.wait(); });
  }
  void open() { latch_.count_down(); }

 private:
  std::latch latch_{1};
};

void per_piece(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * pieces); }

/// Enqueues an empty host function on a busy stream and runs it.
void host_function_on_busy_stream(benchmark::State& state) {
  const auto stream = device().create_stream();
  for (auto _ : state) {
    Gate gate(*stream);
    for (int i = 0; i < pieces; ++i) stream->launch_host_function([] {});
    gate.open();
    stream->synchronize();
  }
  per_piece(state);
}
BENCHMARK(host_function_on_busy_stream)->Unit(benchmark::kMillisecond)->UseRealTime();

/// The same on a stream that runs each function while the next one is enqueued.
void host_function_on_running_stream(benchmark::State& state) {
  const auto stream = device().create_stream();
  for (auto _ : state) {
    for (int i = 0; i < pieces; ++i) stream->launch_host_function([] {});
    stream->synchronize();
  }
  per_piece(state);
}
BENCHMARK(host_function_on_running_stream)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Records an event on one busy stream and waits for it on another.
void record_and_wait_across_busy_streams(benchmark::State& state) {
  const auto from = device().create_stream();
  const auto to = device().create_stream();
  const auto event = device().create_event();
  for (auto _ : state) {
    Gate gate(*from);
    for (int i = 0; i < pieces; ++i) {
      from->record(*event);
      to->wait(*event);
    }
    gate.open();
    to->synchronize();
  }
  per_piece(state);
}
BENCHMARK(record_and_wait_across_busy_streams)->Unit(benchmark::kMillisecond)->UseRealTime();

/// The same with a wait for the stream instead of an event.
void wait_for_busy_stream(benchmark::State& state) {
  const auto from = device().create_stream();
  const auto to = device().create_stream();
  for (auto _ : state) {
    Gate gate(*from);
    for (int i = 0; i < pieces; ++i) to->wait(*from);
    gate.open();
    to->synchronize();
  }
  per_piece(state);
}
BENCHMARK(wait_for_busy_stream)->Unit(benchmark::kMillisecond)->UseRealTime();

/// A chain of streams, in which each one waits for the previous one. The first one is blocked until all waits are enqueued.
void chain_of_waiting_streams(benchmark::State& state) {
  std::vector<weir::StreamPtr> streams;
  for (int i = 0; i < pieces; ++i) streams.push_back(device().create_stream());
  for (auto _ : state) {
    state.PauseTiming();
    Gate gate(*streams.front());
    for (int i = 1; i < pieces; ++i) streams[static_cast<std::size_t>(i)]->wait(*streams[static_cast<std::size_t>(i - 1)]);
    state.ResumeTiming();
    gate.open();
    streams.back()->synchronize();
  }
  per_piece(state);
}
BENCHMARK(chain_of_waiting_streams)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Measures the time to create idle streams, and the memory that they use.
void create_idle_streams(benchmark::State& state) {
  double bytes = 0;
  for (auto _ : state) {
    std::vector<weir::StreamPtr> streams;
    streams.reserve(pieces);
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < pieces; ++i) streams.push_back(device().create_stream());
    bytes = static_cast<double>(mallinfo2().uordblks - before) / pieces;
    state.PauseTiming();
    streams.clear();
    state.ResumeTiming();
  }
  state.counters["bytes_per_stream"] = bytes;
  per_piece(state);
}
BENCHMARK(create_idle_streams)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Writes a value on one stream while another waits for it.
void write_and_wait_value(benchmark::State& state) {
  const auto from = device().create_stream();
  const auto to = device().create_stream();
  const auto value = device().allocate<std::uint32_t>(1, weir::MemoryKind::pinned);
  std::uint32_t n = 0;
  *value.data() = n;
  for (auto _ : state) {
    for (int i = 0; i < pieces; ++i) {
      from->write_value(value.data(), ++n);
      to->wait_value(value.data(), n);
    }
    to->synchronize();
  }
  per_piece(state);
}
BENCHMARK(write_and_wait_value)->Unit(benchmark::kMillisecond)->UseRealTime();

/// Launches a graph of a hundred small copies, each of which depends on the previous one.
void launch_graph_of_100_copies(benchmark::State& state) {
  const auto stream = device().create_stream();
  std::vector<int> from(16, 1);
  std::vector<int> to(16);
  const auto exec = stream
                        ->capture([&](weir::Stream& s) {
                          for (int i = 0; i < 100; ++i) s.copy(to, from);
                        })
                        ->instantiate();
  for (auto _ : state) {
    exec->launch(*stream);
    stream->synchronize();
  }
  state.SetItemsProcessed(state.iterations() * 100);
}
BENCHMARK(launch_graph_of_100_copies)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
