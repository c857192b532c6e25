// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "tests/tools/programs.hpp"

// Programs that record_test.cpp records.

namespace weir::test {
namespace {

constexpr std::size_t n = 5000;  // no whole number of pieces

constexpr const char* source = R"(
struct Part { int first; int* data; };
__device__ int offset = 3;
extern "C" __global__ void scale(int n, const int* x, int* y, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i] + offset;
}
extern "C" __global__ void add_part(int n, Part part, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += part.data[i] + part.first;
}
)";

struct Part {
  int first;
  int* data;
};

void require(bool is_right, const char* what) {
  if (!is_right) throw std::runtime_error(what);
}

std::vector<int> numbers(int first) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Kernels, copies of all kinds of host memory, host functions that compute, and memory in the order of streams.
WEIR_TEST_PROGRAM(recorded_work) {
  const ModulePtr module = device.compile(source);
  const auto scale = module->kernel<void(int, const int*, int*, int)>("scale");
  const auto add_part = module->kernel<void(int, Part, int*)>("add_part");
  const StreamPtr a = device.create_stream(), b = device.create_stream({.priority = Priority::high});
  a->set_name("compute");
  const auto x = device.allocate<int>(n), y = device.allocate<int>(n);
  const auto in = device.allocate<int>(n, MemoryKind::pinned), out = device.allocate<int>(n, MemoryKind::pinned);
  const int four = 4;
  a->copy(Span<int>(reinterpret_cast<int*>(module->global("offset").data()), 1), std::span(&four, 1));
  std::vector<int> pageable = numbers(0), result(n);
  for (int round = 0; round < 3; ++round) {
    std::copy_n(numbers(round).begin(), n, in.host().begin());
    a->copy(x, in);
    a->launch(scale, grid_for(n), static_cast<int>(n), x, y, 2);
    const EventPtr scaled = a->record();
    b->wait(scaled);
    b->copy(out, y);
    b->launch_host_function([&] { out.data()[0] += 1000; }, {.name = "correct"});  // which a replay does not do
    b->copy(y, out);
    a->wait(b);
    a->copy(x, pageable);
    a->launch(add_part, grid_for(n), static_cast<int>(n), Part{round, x.data()}, y);
    a->copy(result, y);
    a->synchronize();
    for (int i = 0; i < static_cast<int>(n); ++i)
      require(result[i] == 2 * (i + round) + 4 + (i == 0 ? 1000 : 0) + i + round, "recorded_work computes wrongly");
  }
  {  // a kernel that reads pinned memory itself, and memory in the stream's order
    const auto own = a->allocate_async<int>(n);
    in.host()[7] = -7;
    a->launch(scale, grid_for(n), static_cast<int>(n), in, own, 1);
    require(a->read(own)[7] == -3, "recorded_work: a kernel reads pinned memory wrongly");
  }
  const auto box = [](int* data) { return PitchedSpan<int>(data, {10, 4, 3}, 64, 256); };
  a->fill(box(x.data()), 9);
  a->fill(y.first(600), 5);
  a->copy(box(y.data()), PitchedSpan<const int>(x.data(), {10, 4, 3}, 64, 256));
  std::vector<double> doubles(10);
  const auto d = device.allocate<double>(10);
  a->fill(d, 2.5);
  a->copy(doubles, d);
  a->synchronize();
  device.copy(result, y);
  require(result[0] == 9 && result[10] == 5 && doubles[9] == 2.5, "recorded_work fills wrongly");
}

/// Captures of several streams, child graphs, updates, a graph by hand, and launches with new inputs.
WEIR_TEST_PROGRAM(recorded_graphs) {
  const auto scale = device.compile(source)->kernel<void(int, const int*, int*, int)>("scale");
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<int>(n), y = device.allocate<int>(n), z = device.allocate<int>(n);
  const auto in = device.allocate<int>(n, MemoryKind::pinned), out = device.allocate<int>(n, MemoryKind::pinned);
  const auto capture = [&](int factor) {
    return a->capture([&](Stream& s) {
      s.copy(x, in);
      b->wait(s);
      s.launch(scale, grid_for(n), static_cast<int>(n), x, y, factor);
      b->launch(scale, grid_for(n), static_cast<int>(n), x, z, factor + 1);
      s.wait(*b);
      s.copy(out, y);
    });
  };
  const GraphPtr graph = capture(2);
  const GraphExecPtr exec = graph->instantiate();
  for (int round = 0; round < 3; ++round) {
    std::copy_n(numbers(round).begin(), n, in.host().begin());
    exec->launch(*a);
    a->synchronize();
    require(out.host()[5] == 2 * (5 + round) + 3, "recorded_graphs computes wrongly");
    if (round == 1) {
      exec->update(capture(3));
      exec->launch(*a);
      a->synchronize();
      require(out.host()[5] == 3 * (5 + round) + 3, "recorded_graphs updates wrongly");
      exec->update(graph);
    }
  }
  GraphBuilder builder(device);
  const GraphNode first = builder.add({}, [&](Stream& s) { s.fill(y, 1); });
  const GraphNode second = builder.add({}, [&](Stream& s) { s.fill(z, 2); });
  const std::array both{first, second};
  builder.add(both, [&](Stream& s) { s.copy(y.first(8), z.first(8)); });
  const GraphPtr built = builder.finish();
  const GraphPtr outer = a->capture([&](Stream& s) { s.add_child_graph(built->clone()); });
  outer->instantiate()->launch(*b);
  require(b->read(y)[7] == 2, "recorded_graphs: a graph by hand is wrong");
}

/// Values that streams write for each other, and one that the host writes without a call of Weir's.
WEIR_TEST_PROGRAM(recorded_waits) {
  const StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto flags = device.allocate<std::uint32_t>(2, MemoryKind::pinned);
  flags.host()[0] = flags.host()[1] = 0;
  const auto x = device.allocate<int>(n), y = device.allocate<int>(n);
  b->wait_value(flags.data(), 5U, WaitCondition::eq);
  b->copy(y, x);
  a->fill(x, 4);
  a->write_value(flags.data(), 5U);
  b->wait_value(flags.data() + 1, 3U);
  flags.data()[1] = 3;
  require(b->read(y)[9] == 4, "recorded_waits waits wrongly");
}

void some_work(Device& device) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<int>(n);
  std::vector<int> values = numbers(0);
  stream->copy(x, values);
  stream->copy(values, x);
  stream->synchronize();
}

WEIR_TEST_PROGRAM(recorded_exit) {
  some_work(device);
  ::_exit(3);
}

WEIR_TEST_PROGRAM(recorded_abort) {
  some_work(device);
  const StreamPtr stream = device.create_stream();
  stream->launch_host_function([] { ::sleep(1000); });
  const auto x = device.allocate<int>(n, MemoryKind::pinned);
  const auto y = device.allocate<int>(n);
  stream->copy(y, x);  // does not run, so what it would have read is not in the file
  std::abort();
}

WEIR_TEST_PROGRAM(recorded_include_directories) {
  some_work(device);
  CompileOptions options;
  options.include_directories = {std::filesystem::temp_directory_path()};
  const auto scale = device.compile(source, options)->kernel<void(int, const int*, int*, int)>("scale");
  const auto x = device.allocate<int>(n), y = device.allocate<int>(n);
  const StreamPtr stream = device.create_stream();
  stream->launch(scale, grid_for(n), static_cast<int>(n), x, y, 2);
  stream->synchronize();
}

WEIR_TEST_PROGRAM(recorded_external_work) {
  some_work(device);
  const auto x = device.allocate<int>(n);
  const StreamPtr stream = device.create_stream();
  external_work(*stream, "library", accesses::reads(x));
  some_work(device);
  external_work(*stream, "library", accesses::writes(x));
  some_work(device);
}

WEIR_TEST_PROGRAM(recorded_unknown_memory) {
  some_work(device);
  const auto scale = device.compile(source)->kernel<void(int, const int*, int*, int)>("scale");
  const std::vector<int> x = numbers(0);
  const auto y = device.allocate<int>(n);
  const StreamPtr stream = device.create_stream();
  stream->launch(scale, grid_for(n), static_cast<int>(n), Span<const int>(x.data(), n), y, 2);
  stream->synchronize();
}

WEIR_TEST_PROGRAM(recorded_much) {
  const StreamPtr stream = device.create_stream();
  const auto x = device.allocate<int>(n);
  for (int i = 0; i < 100; ++i) {
    std::vector<int> values = numbers(i * 10000);
    stream->copy(x, values);
    stream->copy(values, x);
    stream->synchronize();
  }
}

}  // namespace
}  // namespace weir::test
