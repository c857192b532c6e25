// SPDX-License-Identifier: Apache-2.0
//
// How do streams, kernels and graphs go together?
//
// One stream copies from pinned memory while another one fills; then one waits for the other, and the host waits once,
// at the end. If the device has graphs, the repeated step is captured as one.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})";

int main() try {
  weir::Device& device = weir::default_device();  // an NVIDIA GPU, an AMD GPU or the CPU
  const auto saxpy = device.compile(source)->untyped_kernel("saxpy");
  const auto copy = device.create_stream(), compute = device.create_stream({.priority = weir::Priority::high});
  const unsigned int n = 1 << 20;
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  const auto input = device.allocate<float>(n, weir::MemoryKind::pinned);
  std::ranges::fill(input.host(), 1.0F);

  copy->copy(x, input);    // cudaMemcpyAsync
  compute->fill(y, 0.0F);  // cudaMemsetAsync, at the same time
  compute->wait(*copy);    // cudaEventRecord and cudaStreamWaitEvent

  const auto step = [&](weir::Stream& stream) { stream.launch(saxpy, weir::grid_for(n), n, 0.5F, x, y); };
  if (device.supports(weir::Feature::graph_capture)) {
    const auto graph = compute->capture(step)->instantiate();
    for (int i = 0; i < 100; ++i) graph->launch(*compute);
  } else {
    for (int i = 0; i < 100; ++i) step(*compute);
  }

  const std::vector<float> result = compute->read(y);  // copies back and waits
  std::printf("%g on %s\n", result.front(), device.properties().name.c_str());
  return result == std::vector<float>(n, 50.0F) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
