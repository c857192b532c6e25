// SPDX-License-Identifier: Apache-2.0
//
// How do I put a loop into a graph?
//
// `capture_while` adds a node that runs its body again as long as a value in memory is not zero (CUDA's conditional
// nodes). The body changes the value; the host takes no part.
#include <cstdint>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void step(unsigned int* left, int* sum) { *sum += *left; *left -= 1; })";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_conditional_nodes)) return 77;  // skipped
  const auto step = device.compile(source)->untyped_kernel("step");
  const auto stream = device.create_stream();
  const auto left = device.allocate<std::uint32_t>(1);
  const auto sum = device.allocate<int>(1);
  stream->zero(sum);

  const auto graph = stream->capture([&](weir::Stream& s) {
    s.fill(left, 100U);
    s.capture_while(left.data(), [&](weir::Stream& body) { body.launch(step, {1, 1}, left, sum); });
  });
  graph->instantiate()->launch(*stream);
  return stream->read(sum).front() == 5050 ? 0 : 1;
}
