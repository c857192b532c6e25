// SPDX-License-Identifier: Apache-2.0
//
// How do I overlap copies with kernels?
//
// With two streams and two buffers on the device (double buffering): while one chunk is computed, the next one is
// copied. The host's memory must be pinned, or the copies block the host. Each stream works in order, so a buffer is
// never overwritten while it is in use.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void square(unsigned int n, float* x) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
})";

int main() try {
  weir::Device& device = weir::default_device();  // an NVIDIA GPU, an AMD GPU or the CPU
  const auto square = device.compile(source)->kernel<void(unsigned int, float*)>("square");
  constexpr std::size_t chunk = 1 << 18, chunks = 16;

  const auto data = device.allocate<float>(chunks * chunk, weir::MemoryKind::pinned);  // page-locked
  std::ranges::fill(data.host(), 3.0F);

  struct Lane {
    weir::StreamPtr stream;
    weir::Buffer<float> x;
  };
  std::array<Lane, 2> lanes;
  for (Lane& lane : lanes) lane = {device.create_stream(), device.allocate<float>(chunk)};

  for (std::size_t i = 0; i < chunks; ++i) {
    const auto& [stream, x] = lanes[i % 2];  // one lane copies while the other computes
    const auto part = data.subspan(i * chunk, chunk);
    stream->copy(x, part);                                    // cudaMemcpyAsync
    stream->launch(square, weir::grid_for(chunk), chunk, x);  // square<<<chunk / 256, 256, 0, stream>>>(chunk, x)
    stream->copy(part, x);
  }
  for (const Lane& lane : lanes) lane.stream->synchronize();

  const bool right = std::ranges::all_of(data.host(), [](float value) { return value == 9.0F; });
  std::printf("%s on %s (%s)\n", right ? "right" : "WRONG", device.describe().c_str(), device.properties().name.c_str());
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
