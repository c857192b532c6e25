// SPDX-License-Identifier: Apache-2.0
//
// How do I capture a graph and replay it?
//
// `capture` records the work that the function enqueues instead of running it, and always ends the capture, even if the
// function throws. `instantiate` makes an executable; each `launch` runs all of it with one call. The graph keeps the
// addresses that it was captured with.
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void add(int* x, const int* y) { x[threadIdx.x] += y[threadIdx.x]; })";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_capture)) return 77;  // skipped
  const auto add = device.compile(source)->untyped_kernel("add");
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(32), y = device.allocate<int>(32);
  stream->zero(x);

  const auto graph = stream->capture([&](weir::Stream& s) {
    s.fill(y, 2);
    s.launch(add, {1, 32}, x, y);
  });
  const auto ready = graph->instantiate();
  for (int i = 0; i < 10; ++i) ready->launch(*stream);
  return graph->node_count() == 2 && stream->read(x) == std::vector<int>(32, 20) ? 0 : 1;
}
