// SPDX-License-Identifier: Apache-2.0
//
// Computes y = a * x + y repeatedly on the machine's best device: an NVIDIA GPU, an AMD GPU or the CPU.
#include <cstdio>
#include <exception>
#include <vector>

#include "weir/weir.hpp"

constexpr const char* source = R"(
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})";

int main() try {
  constexpr unsigned int n = 1 << 20;
  constexpr int steps = 100;
  const std::vector<float> input(n, 1.0F);
  std::vector<float> result(n);

  weir::Device& device = weir::default_device();  // the CPU if there is no GPU; WEIR_BACKEND selects another
  const auto saxpy = device.compile(source)->untyped_kernel("saxpy");
  const auto copy = device.create_stream(), compute = device.create_stream({.priority = weir::Priority::high});
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);

  copy->copy(x, input);
  compute->fill(y, 0.0F);
  compute->wait(*copy);  // the stream waits; the host does not

  const auto step = [&](weir::Stream& stream) { stream.launch(saxpy, weir::grid_for(n), n, 0.5F, x, y); };
  if (device.supports(weir::Feature::graph_capture)) {
    const auto graph = compute->capture(step)->instantiate();
    for (int i = 0; i < steps; ++i) graph->launch(*compute);
  } else {
    for (int i = 0; i < steps; ++i) step(*compute);
  }

  const auto done = compute->record();  // an event after the last step
  copy->wait(*done);
  copy->copy(result, y);
  copy->synchronize();

  for (const float value : result) {
    if (value != 0.5F * steps) {
      std::printf("wrong: %g instead of %g\n", value, 0.5 * steps);
      return 1;
    }
  }
  std::printf("%d steps on %s (%s): every element is %g\n", steps, device.describe().c_str(),
              device.properties().name.c_str(), result[0]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
