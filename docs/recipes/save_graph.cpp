// SPDX-License-Identifier: Apache-2.0
//
// How do I save a graph to a file, and run it in another process or on another vendor's device?
//
// Capture it as `portable`, and give names to its memory. The file contains the kernels, as bundles or as their source.
// After loading, bind the names to memory.

#include <weir/weir.hpp>

#include <cstdio>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_capture) || !device.supports(weir::Feature::runtime_compilation)) return 77;
  const auto kernel = device
                          .compile("extern \"C\" __global__ void add(const int* x, int* y, int n) {"
                                   "  const int i = blockIdx.x * blockDim.x + threadIdx.x;"
                                   "  if (i < n) y[i] += x[i];"
                                   "}")
                          ->kernel<void(const int*, int*, int)>("add");
  const auto x = device.allocate<int>(1000), y = device.allocate<int>(1000);
  const auto stream = device.create_stream();
  const auto graph = stream->capture({.portable = true}, [&](weir::Stream& s) {
    s.fill(y, 2);
    s.launch(kernel, weir::grid_for(1000), x, y, 1000);
  });
  graph->save("step.weirgraph", {{"x", x}, {"y", y}});

  // Here on the CPU, if there is that backend; any device would do.
  weir::Device& other = weir::Registry::instance().open("host").device(0);
  const auto step = other.load_graph("step.weirgraph");
  const auto a = other.allocate<int>(1000), b = other.allocate<int>(1000);
  step->bind("x", a);
  step->bind("y", b);
  const auto there = other.create_stream();
  there->fill(a, 40);
  step->instantiate()->launch(there);
  std::remove("step.weirgraph");
  return there->read(b).back() == 42 ? 0 : 1;
}
