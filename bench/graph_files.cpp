// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/saved/kernel_bundle_format.hpp"
#include "weir/weir.hpp"

// weir-bench-graph-files [KERNELS [ROUNDS]]: measures the time to load a saved graph and run it once on the default device,
// and compares it with building the same graph by calls. Both sides load modules. Each round also times the loading of
// modules alone, from the same bundle, and subtracts it from `load_graph`.
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* source =
    "extern \"C\" __global__ void add(unsigned n, const float* x, float* y, float a) {\n"
    "  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n";

template <class F>
double microseconds(F&& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// The times of all rounds. On a busy machine, only the least time shows the true cost.
struct Times {
  double median, least;
  explicit Times(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    median = values[values.size() / 2];
    least = values.front();
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const unsigned kernels = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 21;
  constexpr unsigned n = 1024;
  weir::Device& device = weir::default_device();
  const weir::StreamPtr stream = device.create_stream();
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  const auto add = device.compile(source)->kernel<void(unsigned, const float*, float*, float)>("add");
  const weir::LaunchConfig shape = weir::grid_for(n);
  const auto node = [&](weir::Stream& s, unsigned i) { s.launch(add, shape, n, x, y, static_cast<float>(i)); };
  const weir::GraphPtr graph = stream->capture({.portable = true}, [&](weir::Stream& s) {
    for (unsigned i = 0; i < kernels; ++i) node(s, i);
  });
  const weir::NamedMemory memory[] = {{"x", x}, {"y", y}};
  std::vector<std::byte> file;
  const double save = microseconds([&] { file = graph->saved(memory); });
  std::vector<std::byte> bundle;  // the only module of the graph
  weir::detail::BundleReader reader(file, "\x89WEIRGR\n", 1, "",
                                    [](std::span<const std::byte>, const std::string&) { std::abort(); });
  while (bundle.empty()) {
    reader.next();
    if (reader.kind == "modu") bundle.assign(reader.data.begin(), reader.data.end());
  }

  std::vector<double> captured, built, loaded, modules;
  const auto run_once = [&](const weir::GraphPtr& made) {
    made->instantiate()->launch(stream);
    stream->synchronize();
  };
  for (int round = 0; round <= rounds; ++round) {
    const double capture = microseconds([&] {
      run_once(stream->capture([&](weir::Stream& s) {
        for (unsigned i = 0; i < kernels; ++i) node(s, i);
      }));
    });
    const double build = microseconds([&] {
      weir::GraphBuilder builder(device);
      weir::GraphNode last = builder.add({}, [&](weir::Stream& s) { node(s, 0); });
      for (unsigned i = 1; i < kernels; ++i) last = builder.add({last}, [&](weir::Stream& s) { node(s, i); });
      run_once(builder.finish());
    });
    const double module = microseconds([&] { (void)device.load(weir::KernelBundle(bundle)); });
    const double load = microseconds([&] {
      const weir::PortableGraphPtr portable = device.load_graph(file);
      portable->bind("x", x);
      portable->bind("y", y);
      run_once(portable->build());
    });
    if (round == 0) continue;  // round 0 warms up
    captured.push_back(capture);
    built.push_back(build);
    modules.push_back(module);
    loaded.push_back(load - module);
  }
  const Times by_capture(captured), by_hand(built), by_file(loaded), by_module(modules);
  std::printf("%s, %u kernels in a line, %zu bytes, saved in %.0f us; median and least of %d rounds, in us\n",
              device.describe().c_str(), kernels, file.size(), save, rounds);
  const auto line = [](const char* what, const Times& times) {
    std::printf("  %-46s %9.0f %9.0f\n", what, times.median, times.least);
  };
  line("capture, instantiate, run once", by_capture);
  line("GraphBuilder, instantiate, run once", by_hand);
  line("load_graph, bind, build, instantiate, run once", by_file);
  line("(and to load the module)", by_module);
  std::printf("  load_graph / GraphBuilder %.2f %.2f, load_graph / capture %.2f %.2f\n", by_file.median / by_hand.median,
              by_file.least / by_hand.least, by_file.median / by_capture.median, by_file.least / by_capture.least);
  return 0;
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
